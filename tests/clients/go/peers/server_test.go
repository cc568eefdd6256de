// Programs on client-go and controller-runtime, as tests against the server that KUBECONFIG names.
package peers

import (
	"context"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const patience = 30 * time.Second

// connect gives the configuration for the server; the type of content is what bodies are sent as.
func connect(t *testing.T, contentType string) *rest.Config {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	must(t, err)
	config.QPS, config.Burst = 1000, 1000
	if contentType != "" {
		config.ContentType = contentType
		config.AcceptContentTypes = contentType + ",application/json"
	}
	return config
}

// within gives a context that ends with the test's patience.
func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// space makes a namespace for the test.
func space(t *testing.T, clients kubernetes.Interface) string {
	t.Helper()
	made, err := clients.CoreV1().Namespaces().Create(
		within(t), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "go-"}}, metav1.CreateOptions{})
	must(t, err)
	return made.Name
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// eventually waits until something holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for until := time.Now().Add(patience); time.Now().Before(until); time.Sleep(20 * time.Millisecond) {
		if holds() {
			return
		}
	}
	t.Fatalf("it never came about: %s", what)
}

// requests remembers what a client asked for.
type requests struct {
	next  http.RoundTripper
	lock  sync.Mutex
	asked []string
}

func (r *requests) RoundTrip(request *http.Request) (*http.Response, error) {
	r.lock.Lock()
	r.asked = append(r.asked, request.Method+" "+request.URL.RequestURI())
	r.lock.Unlock()
	return r.next.RoundTrip(request)
}

func (r *requests) count(part string) int {
	r.lock.Lock()
	defer r.lock.Unlock()
	count := 0
	for _, each := range r.asked {
		if strings.Contains(each, part) {
			count++
		}
	}
	return count
}
