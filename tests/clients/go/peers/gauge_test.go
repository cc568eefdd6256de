package peers

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var gaugeVersion = schema.GroupVersion{Group: "peers.setpoint.example", Version: "v1"}

// Gauge is a kind of our own, as the authors of operators write theirs.
type Gauge struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              GaugeSpec   `json:"spec,omitempty"`
	Status            GaugeStatus `json:"status,omitempty"`
}

type GaugeSpec struct {
	Level int64  `json:"level"`
	Unit  string `json:"unit,omitempty"`
}

type GaugeStatus struct {
	Level int64 `json:"level,omitempty"`
}

type GaugeList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Gauge `json:"items"`
}

func (g *Gauge) DeepCopyObject() runtime.Object {
	made := *g
	g.ObjectMeta.DeepCopyInto(&made.ObjectMeta)
	return &made
}

func (l *GaugeList) DeepCopyObject() runtime.Object {
	made := *l
	l.ListMeta.DeepCopyInto(&made.ListMeta)
	made.Items = nil
	for index := range l.Items {
		made.Items = append(made.Items, *l.Items[index].DeepCopyObject().(*Gauge))
	}
	return &made
}

func addGauges(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(gaugeVersion, &Gauge{}, &GaugeList{})
	metav1.AddToGroupVersion(scheme, gaugeVersion)
	return nil
}
