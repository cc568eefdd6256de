package peers

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const finalizer = "peers.setpoint.example/tidy"

// reader keeps a ConfigMap for each Gauge, says so in its status, and tidies up behind it.
type reader struct {
	client.Client
	recorder events.EventRecorder
}

func (r *reader) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	gauge := &Gauge{}
	if err := r.Get(ctx, request.NamespacedName, gauge); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !gauge.DeletionTimestamp.IsZero() {
		if controllerutil.RemoveFinalizer(gauge, finalizer) {
			return ctrl.Result{}, r.Update(ctx, gauge)
		}
		return ctrl.Result{}, nil
	}
	if controllerutil.AddFinalizer(gauge, finalizer) {
		if err := r.Update(ctx, gauge); err != nil {
			return ctrl.Result{}, err
		}
	}
	reading := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: gauge.Name, Namespace: gauge.Namespace}}
	done, err := controllerutil.CreateOrUpdate(ctx, r.Client, reading, func() error {
		reading.Data = map[string]string{"level": fmt.Sprintf("%d%s", gauge.Spec.Level, gauge.Spec.Unit)}
		return controllerutil.SetControllerReference(gauge, reading, r.Scheme())
	})
	if err != nil {
		return ctrl.Result{}, err
	}
	if done == controllerutil.OperationResultCreated {
		r.recorder.Eventf(gauge, reading, corev1.EventTypeNormal, "Read", "Reading", "level %d", gauge.Spec.Level)
	}
	if gauge.Status.Level != gauge.Spec.Level {
		before := gauge.DeepCopyObject().(*Gauge)
		gauge.Status.Level = gauge.Spec.Level
		return ctrl.Result{}, r.Status().Patch(ctx, gauge, client.MergeFrom(before))
	}
	return ctrl.Result{}, nil
}

func gaugeDefinition() *apiextensionsv1.CustomResourceDefinition {
	object := func(properties map[string]apiextensionsv1.JSONSchemaProps) apiextensionsv1.JSONSchemaProps {
		return apiextensionsv1.JSONSchemaProps{Type: "object", Properties: properties}
	}
	level := apiextensionsv1.JSONSchemaProps{Type: "integer", Format: "int64"}
	unit := apiextensionsv1.JSONSchemaProps{Type: "string", Default: &apiextensionsv1.JSON{Raw: []byte(`"m"`)}}
	schema := object(map[string]apiextensionsv1.JSONSchemaProps{
		"spec":   object(map[string]apiextensionsv1.JSONSchemaProps{"level": level, "unit": unit}),
		"status": object(map[string]apiextensionsv1.JSONSchemaProps{"level": level}),
	})
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "gauges." + gaugeVersion.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: gaugeVersion.Group,
			Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "gauges", Kind: "Gauge"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: gaugeVersion.Version, Served: true, Storage: true,
				Schema:       &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &schema},
				Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
			}},
		},
	}
}

func TestAManagerLeadsReconcilesAndTidiesUp(t *testing.T) {
	log.SetLogger(zap.New(zap.UseDevMode(true)))
	config := connect(t, "")
	clients := kubernetes.NewForConfigOrDie(config)
	namespace := space(t, clients)
	scheme := runtime.NewScheme()
	must(t, clientscheme.AddToScheme(scheme))
	must(t, apiextensionsv1.AddToScheme(scheme))
	must(t, addGauges(scheme))
	direct, err := client.New(config, client.Options{Scheme: scheme})
	must(t, err)
	must(t, direct.Create(within(t), gaugeDefinition()))

	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                        scheme,
		LeaderElection:                true,
		LeaderElectionID:              "gauges",
		LeaderElectionNamespace:       namespace,
		LeaderElectionReleaseOnCancel: true,
		Metrics:                       server.Options{BindAddress: "0"},
		Cache:                         cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
	})
	must(t, err)
	must(t, manager.GetFieldIndexer().IndexField(context.Background(), &Gauge{}, "spec.unit", func(object client.Object) []string {
		return []string{object.(*Gauge).Spec.Unit}
	}))
	must(t, ctrl.NewControllerManagedBy(manager).For(&Gauge{}).Owns(&corev1.ConfigMap{}).
		Complete(&reader{manager.GetClient(), manager.GetEventRecorder("gauges")}))
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- manager.Start(ctx) }()
	select {
	case <-manager.Elected():
	case <-time.After(patience):
		t.Fatal("it never leads")
	}

	gauge := &Gauge{ObjectMeta: metav1.ObjectMeta{Name: "one", Namespace: namespace}, Spec: GaugeSpec{Level: 5}}
	must(t, direct.Create(within(t), gauge))
	key := client.ObjectKeyFromObject(gauge)
	reading := &corev1.ConfigMap{}
	level := func(wanted string) func() bool {
		return func() bool { return direct.Get(ctx, key, reading) == nil && reading.Data["level"] == wanted }
	}
	eventually(t, "the reading is there", level("5m"))
	if owner := metav1.GetControllerOf(reading); owner == nil || owner.UID != gauge.UID {
		t.Fatalf("owned by %+v", owner)
	}
	eventually(t, "the status follows", func() bool { return direct.Get(ctx, key, gauge) == nil && gauge.Status.Level == 5 })

	must(t, direct.Patch(ctx, gauge, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"level":6}}`))))
	eventually(t, "the reading follows", level("6m"))
	must(t, direct.Delete(ctx, reading))
	eventually(t, "what it owns is made again", level("6m"))
	eventually(t, "its event is there", func() bool {
		found, err := clients.EventsV1().Events(namespace).List(ctx, metav1.ListOptions{FieldSelector: "reason=Read"})
		return err == nil && len(found.Items) > 0
	})
	eventually(t, "the index finds it", func() bool {
		found := &GaugeList{}
		err := manager.GetClient().List(ctx, found, client.InNamespace(namespace), client.MatchingFields{"spec.unit": "m"})
		return err == nil && len(found.Items) == 1
	})
	must(t, direct.Delete(ctx, gauge))
	eventually(t, "its finalizer is taken off", func() bool { return apierrors.IsNotFound(direct.Get(ctx, key, gauge)) })

	stop()
	must(t, <-ended)
	lease, err := clients.CoordinationV1().Leases(namespace).Get(within(t), "gauges", metav1.GetOptions{})
	must(t, err)
	if *lease.Spec.HolderIdentity != "" {
		t.Fatalf("it did not let go: %+v", lease.Spec)
	}
}
