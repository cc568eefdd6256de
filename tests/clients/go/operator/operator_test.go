package operator

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

func newTank(t *testing.T, name string, capacity int) *Tank {
	t.Helper()
	tank := &Tank{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}, Spec: TankSpec{Capacity: capacity}}
	if err := admin.Create(t.Context(), tank); err != nil {
		t.Fatal(err)
	}
	return tank
}

func TestTheReconcilerKeepsALabelForEachTank(t *testing.T) {
	tank := newTank(t, "labelled", 5)
	written := &corev1.ConfigMap{}
	labelled := func(label string) func() bool {
		return func() bool {
			return admin.Get(t.Context(), client.ObjectKeyFromObject(tank), written) == nil && written.Data["label"] == label
		}
	}
	eventually(t, "the label is written", labelled("5l"))
	if owner := metav1.GetControllerOf(written); owner == nil || owner.UID != tank.UID {
		t.Fatalf("the ConfigMap is owned by %v", owner)
	}
	patch := client.MergeFrom(tank.DeepCopyObject().(client.Object))
	tank.Spec.Capacity = 6
	if err := admin.Patch(t.Context(), tank, patch); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the label follows", labelled("6l"))
	if err := admin.Delete(t.Context(), written); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the label is written again", labelled("6l"))
	eventually(t, "the status tells it", func() bool {
		err := admin.Get(t.Context(), client.ObjectKeyFromObject(tank), tank)
		return err == nil && tank.Status == TankStatus{Label: "6l", ObservedGeneration: 2}
	})
}

func TestTheSchemaOfTheDefinitionCounts(t *testing.T) {
	empty := &Tank{ObjectMeta: metav1.ObjectMeta{Name: "empty", Namespace: "default"}}
	err := admin.Create(t.Context(), empty)
	if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "spec.capacity") {
		t.Fatalf("an empty tank: %v", err)
	}
}

func TestTheWebhooksFillInAndRefuse(t *testing.T) {
	tank := newTank(t, "hooked", 5)
	if tank.Spec.Unit != "l" {
		t.Fatalf("the unit is %q", tank.Spec.Unit)
	}
	eventually(t, "the shrinking tank is refused", func() bool {
		if err := admin.Get(t.Context(), client.ObjectKeyFromObject(tank), tank); err != nil {
			t.Fatal(err)
		}
		tank.Spec.Capacity = 4
		err := admin.Update(t.Context(), tank)
		if err == nil {
			t.Fatal("the tank has shrunk")
		}
		// The reconciler may have written meanwhile.
		return apierrors.IsForbidden(err) && strings.Contains(err.Error(), errShrunk.Error())
	})
}

func TestUsersMayDoWhatRolesSay(t *testing.T) {
	user, err := environment.AddUser(envtest.User{Name: "reader", Groups: []string{"readers"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	reader, err := client.New(user.Config(), client.Options{Scheme: admin.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	if err := reader.List(t.Context(), &TankList{}, client.InNamespace("default")); !apierrors.IsForbidden(err) {
		t.Fatalf("before there is a role: %v", err)
	}
	role := &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: "read-tanks", Namespace: "default"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{groupVersion.Group}, Resources: []string{"tanks"}, Verbs: []string{"list"}}},
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: role.ObjectMeta,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "readers"}},
	}
	if err := errorOf(admin.Create(t.Context(), role), admin.Create(t.Context(), binding)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the role counts", func() bool {
		return reader.List(t.Context(), &TankList{}, client.InNamespace("default")) == nil
	})
	tank := &Tank{ObjectMeta: metav1.ObjectMeta{Name: "mine", Namespace: "default"}, Spec: TankSpec{Capacity: 1}}
	if err := reader.Create(t.Context(), tank); !apierrors.IsForbidden(err) {
		t.Fatalf("creating: %v", err)
	}
}
