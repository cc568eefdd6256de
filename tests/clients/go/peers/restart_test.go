package peers

import (
	"fmt"
	"os"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// An informer goes on where it was when its server starts anew. Whoever runs this restarts the server meanwhile, reads
// the names of the objects as they are printed, and makes the last one.
func TestAcrossRestarts(t *testing.T) {
	last := os.Getenv("UNTIL")
	if last == "" {
		t.Skip("nobody restarts the server")
	}
	ctx := within(t)
	clients := kubernetes.NewForConfigOrDie(connect(t, ""))
	factory := informers.NewSharedInformerFactoryWithOptions(clients, 0, informers.WithNamespace(metav1.NamespaceDefault))
	done, once := make(chan struct{}), sync.Once{}
	_, err := factory.Core().V1().ConfigMaps().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(added any) {
			name := added.(*corev1.ConfigMap).Name
			fmt.Println("added", name)
			if name == last {
				once.Do(func() { close(done) })
			}
		},
		DeleteFunc: func(any) { t.Error("nothing was deleted") },
	})
	must(t, err)
	factory.Start(ctx.Done())
	select {
	case <-done:
	case <-ctx.Done():
		t.Fatal("the last object has not been seen")
	}
}
