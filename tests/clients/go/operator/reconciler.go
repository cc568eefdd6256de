package operator

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// Reconciler keeps a ConfigMap with the label of each Tank.
type Reconciler struct {
	client.Client
}

func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	tank := &Tank{}
	if err := r.Get(ctx, request.NamespacedName, tank); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	label := fmt.Sprintf("%d%s", tank.Spec.Capacity, tank.Spec.Unit)
	written := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: tank.Name, Namespace: tank.Namespace}}
	if _, err := controllerutil.CreateOrUpdate(ctx, r.Client, written, func() error {
		written.Data = map[string]string{"label": label}
		return controllerutil.SetControllerReference(tank, written, r.Scheme())
	}); err != nil {
		return ctrl.Result{}, err
	}
	if tank.Status.Label == label && tank.Status.ObservedGeneration == tank.Generation {
		return ctrl.Result{}, nil
	}
	tank.Status = TankStatus{Label: label, ObservedGeneration: tank.Generation}
	return ctrl.Result{}, r.Status().Update(ctx, tank)
}

// SetupWithManager starts it with a manager.
func (r *Reconciler) SetupWithManager(manager ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(manager).For(&Tank{}).Owns(&corev1.ConfigMap{}).Complete(r)
}
