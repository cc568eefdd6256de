package operator

import (
	"context"
	"errors"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

var errShrunk = errors.New("a tank cannot shrink")

// Webhook fills in the unit of a Tank, and lets none shrink.
type Webhook struct{}

func (Webhook) Default(_ context.Context, tank *Tank) error {
	if tank.Spec.Unit == "" {
		tank.Spec.Unit = "l"
	}
	return nil
}

func (Webhook) ValidateCreate(_ context.Context, tank *Tank) (admission.Warnings, error) {
	if tank.Spec.Capacity > 1000 {
		return admission.Warnings{"that is a large tank"}, nil
	}
	return nil, nil
}

func (Webhook) ValidateUpdate(_ context.Context, before, after *Tank) (admission.Warnings, error) {
	if after.Spec.Capacity < before.Spec.Capacity {
		return nil, errShrunk
	}
	return nil, nil
}

func (Webhook) ValidateDelete(context.Context, *Tank) (admission.Warnings, error) { return nil, nil }

// SetupWithManager serves it at a manager's webhook server.
func (w Webhook) SetupWithManager(manager ctrl.Manager) error {
	return ctrl.NewWebhookManagedBy(manager, &Tank{}).WithDefaulter(w).WithValidator(w).Complete()
}
