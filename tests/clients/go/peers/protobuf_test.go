package peers

import (
	"bytes"
	"net/http"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

const protobufType = "application/vnd.kubernetes.protobuf"

// answers records the types of content of all answers below a path.
type answers struct {
	next  http.RoundTripper
	mutex sync.Mutex
	other []string
	count int
}

func (a *answers) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := a.next.RoundTrip(request)
	if err == nil {
		a.mutex.Lock()
		defer a.mutex.Unlock()
		a.count++
		if got := response.Header.Get("Content-Type"); !strings.HasPrefix(got, protobufType) {
			a.other = append(a.other, request.Method+" "+request.URL.String()+": "+got)
		}
	}
	return response, err
}

func pod(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"b": "2", "a": "1"}, Annotations: map[string]string{"text": "é日本"}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "main", Image: "nginx:1", Ports: []corev1.ContainerPort{{ContainerPort: 8080}},
		}}},
	}
}

// A controller whose content type is protobuf gets no answer in another type, whatever it does.
func TestEveryAnswerIsProtobuf(t *testing.T) {
	config := connect(t, protobufType)
	told := &answers{}
	config.WrapTransport = func(next http.RoundTripper) http.RoundTripper { told.next = next; return told }
	clients := kubernetes.NewForConfigOrDie(config)
	ctx, namespace := within(t), space(t, clients)
	pods, maps, deployments := clients.CoreV1().Pods(namespace), clients.CoreV1().ConfigMaps(namespace), clients.AppsV1().Deployments(namespace)

	factory := informers.NewSharedInformerFactoryWithOptions(clients, 0, informers.WithNamespace(namespace))
	informer := factory.Core().V1().Pods()
	seen := informer.Informer()
	listed := factory.Apps().V1().Deployments().Informer()
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), seen.HasSynced, listed.HasSynced) {
		t.Fatal("never in sync")
	}
	for _, name := range []string{"one", "two"} {
		_, err := pods.Create(ctx, pod(name), metav1.CreateOptions{})
		must(t, err)
		_, err = maps.Create(ctx, configMap(name, map[string]string{"text": "é日本"}), metav1.CreateOptions{})
		must(t, err)
		_, err = deployments.Create(ctx, deployment(name), metav1.CreateOptions{})
		must(t, err)
	}
	found, err := maps.Get(ctx, "one", metav1.GetOptions{})
	must(t, err)
	if found.Data["text"] != "é日本" {
		t.Fatalf("another text: %q", found.Data["text"])
	}
	found.Data["more"] = "1"
	_, err = maps.Update(ctx, found, metav1.UpdateOptions{})
	must(t, err)
	patch := []byte(`{"metadata":{"labels":{"patched":"yes"}}}`)
	_, err = pods.Patch(ctx, "one", types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	must(t, err)
	_, err = deployments.Patch(ctx, "one", types.MergePatchType, patch, metav1.PatchOptions{})
	must(t, err)
	eventually(t, "the change is in the cache", func() bool {
		found, err := informer.Lister().Pods(namespace).Get("one")
		return err == nil && found.Labels["patched"] == "yes" && found.Annotations["text"] == "é日本" && len(listed.GetStore().List()) == 2
	})
	all, err := pods.List(ctx, metav1.ListOptions{Limit: 1})
	must(t, err)
	if len(all.Items) != 1 || all.Continue == "" || *all.RemainingItemCount != 1 {
		t.Fatalf("no page: %+v", all.ListMeta)
	}
	if _, err = pods.Get(ctx, "three", metav1.GetOptions{}); err == nil || err.Error() != `pods "three" not found` {
		t.Fatalf("another error: %v", err)
	}
	now := int64(0)
	must(t, pods.Delete(ctx, "one", metav1.DeleteOptions{GracePeriodSeconds: &now}))
	must(t, maps.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}))
	must(t, deployments.Delete(ctx, "one", metav1.DeleteOptions{}))
	eventually(t, "the deletion is in the cache", func() bool { return len(seen.GetStore().List()) == 1 })
	told.mutex.Lock()
	defer told.mutex.Unlock()
	if len(told.other) > 0 || told.count < 15 {
		t.Fatalf("of %d answers, these are not protobuf: %v", told.count, told.other)
	}
}

// What Go writes for the object that it read is the same as what the server wrote, byte by byte.
func TestProtobufIsWrittenAsGoWritesIt(t *testing.T) {
	clients := kubernetes.NewForConfigOrDie(connect(t, protobufType))
	ctx, namespace := within(t), space(t, clients)
	_, err := clients.CoreV1().Pods(namespace).Create(ctx, pod("one"), metav1.CreateOptions{})
	must(t, err)
	_, err = clients.AppsV1().Deployments(namespace).Create(ctx, deployment("web"), metav1.CreateOptions{})
	must(t, err)
	serializer := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)
	same := func(client rest.Interface, path ...string) {
		t.Helper()
		raw, err := client.Get().AbsPath(path...).SetHeader("Accept", protobufType).DoRaw(ctx)
		must(t, err)
		object, kind, err := serializer.Decode(raw, nil, nil)
		must(t, err)
		object.GetObjectKind().SetGroupVersionKind(*kind)
		written := &bytes.Buffer{}
		must(t, serializer.Encode(object, written))
		if !bytes.Equal(raw, written.Bytes()) {
			t.Errorf("%v:\n%q\n%q", path, raw, written.Bytes())
		}
	}
	core, apps := clients.CoreV1().RESTClient(), clients.AppsV1().RESTClient()
	same(core, "/api/v1/namespaces", namespace, "pods")
	same(core, "/api/v1/namespaces", namespace, "pods/one")
	same(core, "/api/v1/namespaces")
	same(core, "/api/v1/services")
	same(apps, "/apis/apps/v1/namespaces", namespace, "deployments/web")
	same(apps, "/apis/apps/v1/namespaces", namespace, "deployments/web/scale")
	for _, path := range []string{
		"/apis/rbac.authorization.k8s.io/v1/clusterroles", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
		"/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas", "/apis/scheduling.k8s.io/v1/priorityclasses",
		"/apis/discovery.k8s.io/v1/endpointslices",
	} {
		same(core, path)
	}
}

func TestAWatchInProtobufTellsEveryEvent(t *testing.T) {
	clients := kubernetes.NewForConfigOrDie(connect(t, protobufType))
	ctx, namespace := within(t), space(t, clients)
	maps := clients.CoreV1().ConfigMaps(namespace)
	all, err := maps.List(ctx, metav1.ListOptions{})
	must(t, err)
	watcher, err := maps.Watch(ctx, metav1.ListOptions{ResourceVersion: all.ResourceVersion})
	must(t, err)
	defer watcher.Stop()
	made, err := maps.Create(ctx, configMap("one", map[string]string{"large": strings.Repeat("é", 100_000)}), metav1.CreateOptions{})
	must(t, err)
	made.Data["small"] = "1"
	_, err = maps.Update(ctx, made, metav1.UpdateOptions{})
	must(t, err)
	must(t, maps.Delete(ctx, "one", metav1.DeleteOptions{}))
	for number, kind := range []watch.EventType{watch.Added, watch.Modified, watch.Deleted} {
		event := <-watcher.ResultChan()
		object, ok := event.Object.(*corev1.ConfigMap)
		if event.Type != kind || !ok || len(object.Data["large"]) != 200_000 || len(object.Data) != min(number+1, 2) {
			t.Fatalf("%s: %v", kind, event.Type)
		}
	}
	old, err := maps.Watch(ctx, metav1.ListOptions{ResourceVersion: "1"})
	if err == nil {
		event := <-old.ResultChan()
		status, ok := event.Object.(runtime.Object).(*metav1.Status)
		if event.Type == watch.Error && (!ok || status.Code != 410) {
			t.Fatalf("another error: %+v", event)
		}
		old.Stop()
	}
}
