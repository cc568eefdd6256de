// Package operator is a small operator as their authors write them, with the tests that they write for it. It knows
// nothing of the server that its tests run on.
package operator

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var groupVersion = schema.GroupVersion{Group: "operator.setpoint.example", Version: "v1"}

// Tank holds something; its label is written on a ConfigMap.
type Tank struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              TankSpec   `json:"spec,omitempty"`
	Status            TankStatus `json:"status,omitempty"`
}

type TankSpec struct {
	Capacity int    `json:"capacity"`
	Unit     string `json:"unit,omitempty"`
}

type TankStatus struct {
	Label              string `json:"label,omitempty"`
	ObservedGeneration int64  `json:"observedGeneration,omitempty"`
}

type TankList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Tank `json:"items"`
}

func (t *Tank) DeepCopyObject() runtime.Object {
	made := *t
	t.ObjectMeta.DeepCopyInto(&made.ObjectMeta)
	return &made
}

func (l *TankList) DeepCopyObject() runtime.Object {
	made := *l
	l.ListMeta.DeepCopyInto(&made.ListMeta)
	made.Items = nil
	for index := range l.Items {
		made.Items = append(made.Items, *l.Items[index].DeepCopyObject().(*Tank))
	}
	return &made
}

// AddToScheme makes the kinds known.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(groupVersion, &Tank{}, &TankList{})
	metav1.AddToGroupVersion(scheme, groupVersion)
	return nil
}
