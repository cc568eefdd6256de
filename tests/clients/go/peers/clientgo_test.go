package peers

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	applycore "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcore "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/tools/pager"
	"k8s.io/client-go/tools/record"
	watchtools "k8s.io/client-go/tools/watch"
	"k8s.io/client-go/util/retry"
)

func configMap(name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: data}
}

func deployment(name string) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	replicas := int32(2)
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "nginx:1"}}},
			},
		},
	}
}

// Typed clients do everything alike, whether bodies are JSON or protobuf.
func TestTypedClientsReadAndWrite(t *testing.T) {
	for _, contentType := range []string{"application/json", "application/vnd.kubernetes.protobuf"} {
		t.Run(contentType, func(t *testing.T) {
			clients := kubernetes.NewForConfigOrDie(connect(t, contentType))
			ctx, namespace := within(t), space(t, clients)
			deployments := clients.AppsV1().Deployments(namespace)

			made, err := deployments.Create(ctx, deployment("web"), metav1.CreateOptions{FieldManager: "go"})
			must(t, err)
			if made.Spec.Strategy.Type != appsv1.RollingUpdateDeploymentStrategyType || made.UID == "" {
				t.Fatalf("no defaults: %+v", made)
			}
			if _, err = deployments.Create(ctx, deployment("web"), metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
				t.Fatalf("created twice: %v", err)
			}
			stale := made.DeepCopy()
			must(t, retry.RetryOnConflict(retry.DefaultRetry, func() error {
				found, err := deployments.Get(ctx, "web", metav1.GetOptions{})
				if err != nil {
					return err
				}
				found.Spec.Template.Spec.Containers[0].Image = "nginx:2"
				_, err = deployments.Update(ctx, found, metav1.UpdateOptions{})
				return err
			}))
			if _, err = deployments.Update(ctx, stale, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
				t.Fatalf("a stale object was written: %v", err)
			}
			found, err := deployments.Get(ctx, "web", metav1.GetOptions{})
			must(t, err)
			found.Status.Replicas = 2
			found.Spec.Paused = true
			found, err = deployments.UpdateStatus(ctx, found, metav1.UpdateOptions{})
			must(t, err)
			if found.Status.Replicas != 2 || found.Spec.Paused {
				t.Fatalf("status is not written apart: %+v", found)
			}
			scale, err := deployments.GetScale(ctx, "web", metav1.GetOptions{})
			must(t, err)
			scale.Spec.Replicas = 7
			_, err = deployments.UpdateScale(ctx, "web", scale, metav1.UpdateOptions{})
			must(t, err)
			patched, err := deployments.Patch(ctx, "web", types.StrategicMergePatchType,
				[]byte(`{"spec":{"template":{"spec":{"containers":[{"name":"side","image":"busybox"}]}}}}`), metav1.PatchOptions{})
			must(t, err)
			if len(patched.Spec.Template.Spec.Containers) != 2 || *patched.Spec.Replicas != 7 {
				t.Fatalf("patched wrongly: %+v", patched.Spec)
			}
			wrong := deployment("wrong")
			wrong.Spec.Selector.MatchLabels = map[string]string{"app": "other"}
			if _, err = deployments.Create(ctx, wrong, metav1.CreateOptions{}); !apierrors.IsInvalid(err) {
				t.Fatalf("an invalid object was created: %v", err)
			}
			all, err := deployments.List(ctx, metav1.ListOptions{LabelSelector: "app=web"})
			must(t, err)
			if len(all.Items) != 1 || all.ResourceVersion == "" {
				t.Fatalf("listed wrongly: %+v", all)
			}
			grace, propagation, uid := int64(0), metav1.DeletePropagationBackground, types.UID("another")
			err = deployments.Delete(ctx, "web", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
			if !apierrors.IsConflict(err) {
				t.Fatalf("a precondition is ignored: %v", err)
			}
			must(t, deployments.Delete(ctx, "web", metav1.DeleteOptions{GracePeriodSeconds: &grace, PropagationPolicy: &propagation}))
			if _, err = deployments.Get(ctx, "web", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
				t.Fatalf("it is still there: %v", err)
			}
		})
	}
}

func TestTypedObjectsAreApplied(t *testing.T) {
	clients := kubernetes.NewForConfigOrDie(connect(t, "application/vnd.kubernetes.protobuf"))
	ctx, namespace := within(t), space(t, clients)
	maps := clients.CoreV1().ConfigMaps(namespace)
	one := applycore.ConfigMap("one", namespace).WithData(map[string]string{"a": "1"})
	_, err := maps.Apply(ctx, one, metav1.ApplyOptions{FieldManager: "first"})
	must(t, err)
	one.WithData(map[string]string{"a": "2"})
	if _, err = maps.Apply(ctx, one, metav1.ApplyOptions{FieldManager: "second"}); !apierrors.IsConflict(err) {
		t.Fatalf("no conflict: %v", err)
	}
	forced, err := maps.Apply(ctx, one, metav1.ApplyOptions{FieldManager: "second", Force: true})
	must(t, err)
	if forced.Data["a"] != "2" {
		t.Fatalf("not forced: %v", forced.Data)
	}
	extracted, err := applycore.ExtractConfigMap(forced, "second")
	must(t, err)
	if extracted.Data["a"] != "2" {
		t.Fatalf("its own fields are not found again: %+v", extracted)
	}
}

func TestPodsAreBoundAndEvicted(t *testing.T) {
	clients := kubernetes.NewForConfigOrDie(connect(t, "application/vnd.kubernetes.protobuf"))
	ctx, namespace := within(t), space(t, clients)
	pods := clients.CoreV1().Pods(namespace)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "one"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "nginx:1"}}},
	}
	_, err := pods.Create(ctx, pod, metav1.CreateOptions{})
	must(t, err)
	must(t, pods.Bind(ctx, &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: "one", Namespace: namespace},
		Target:     corev1.ObjectReference{Kind: "Node", Name: "somewhere"},
	}, metav1.CreateOptions{}))
	bound, err := pods.Get(ctx, "one", metav1.GetOptions{})
	must(t, err)
	if bound.Spec.NodeName != "somewhere" {
		t.Fatalf("not bound: %+v", bound.Spec)
	}
	selected, err := pods.List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=somewhere"})
	must(t, err)
	if len(selected.Items) != 1 {
		t.Fatalf("not selected by its node: %+v", selected.Items)
	}
	now := int64(0)
	must(t, pods.EvictV1(ctx, &policyv1.Eviction{
		ObjectMeta:    metav1.ObjectMeta{Name: "one", Namespace: namespace},
		DeleteOptions: &metav1.DeleteOptions{GracePeriodSeconds: &now},
	}))
	if _, err = pods.Get(ctx, "one", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Fatalf("not evicted: %v", err)
	}
}

// An informer reads its first state as a stream, then follows.
func TestASharedInformerStreamsItsFirstStateAndFollows(t *testing.T) {
	config := connect(t, "application/vnd.kubernetes.protobuf")
	asked := &requests{}
	config.WrapTransport = func(next http.RoundTripper) http.RoundTripper { asked.next = next; return asked }
	clients := kubernetes.NewForConfigOrDie(config)
	ctx, namespace := within(t), space(t, clients)
	maps := clients.CoreV1().ConfigMaps(namespace)
	for number := range 20 {
		_, err := maps.Create(ctx, configMap(fmt.Sprintf("c%d", number), nil), metav1.CreateOptions{})
		must(t, err)
	}
	factory := informers.NewSharedInformerFactoryWithOptions(clients, 0, informers.WithNamespace(namespace))
	informer := factory.Core().V1().ConfigMaps()
	deleted := make(chan string, 10)
	_, err := informer.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		DeleteFunc: func(object any) { deleted <- object.(*corev1.ConfigMap).Name },
	})
	must(t, err)
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), informer.Informer().HasSynced) {
		t.Fatal("never in sync")
	}
	if count := len(informer.Informer().GetStore().List()); count != 20 {
		t.Fatalf("in sync with %d objects", count)
	}
	if asked.count("sendInitialEvents=true") != 1 {
		t.Fatalf("the first state did not come as a stream: %v", asked.asked)
	}
	if plain := asked.count("configmaps?limit="); plain != 0 {
		t.Fatalf("it fell back to a list: %v", asked.asked)
	}
	changed := configMap("c3", map[string]string{"a": "1"})
	_, err = maps.Update(ctx, changed, metav1.UpdateOptions{})
	must(t, err)
	eventually(t, "the change is in the cache", func() bool {
		found, err := informer.Lister().ConfigMaps(namespace).Get("c3")
		return err == nil && found.Data["a"] == "1"
	})
	must(t, maps.Delete(ctx, "c4", metav1.DeleteOptions{}))
	if name := <-deleted; name != "c4" {
		t.Fatalf("deleted: %s", name)
	}
	must(t, maps.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}))
	eventually(t, "the cache is empty", func() bool { return len(informer.Informer().GetStore().List()) == 0 })
}

func TestAWatchIsTakenUpWhereItEnded(t *testing.T) {
	clients := kubernetes.NewForConfigOrDie(connect(t, ""))
	ctx, namespace := within(t), space(t, clients)
	maps := clients.CoreV1().ConfigMaps(namespace)
	all, err := maps.List(ctx, metav1.ListOptions{})
	must(t, err)
	short := int64(1)
	watcher, err := watchtools.NewRetryWatcherWithContext(ctx, all.ResourceVersion, &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.TimeoutSeconds = &short
			return maps.Watch(ctx, options)
		},
	})
	must(t, err)
	defer watcher.Stop()
	for _, name := range []string{"before", "after"} {
		_, err = maps.Create(ctx, configMap(name, nil), metav1.CreateOptions{})
		must(t, err)
		event := <-watcher.ResultChan()
		found, ok := event.Object.(*corev1.ConfigMap)
		if event.Type != watch.Added || !ok || found.Name != name {
			t.Fatalf("%s: %+v", name, event)
		}
		time.Sleep(1200 * time.Millisecond)
	}
}

func TestListsComeInPages(t *testing.T) {
	clients := kubernetes.NewForConfigOrDie(connect(t, ""))
	ctx, namespace := within(t), space(t, clients)
	maps := clients.CoreV1().ConfigMaps(namespace)
	for number := range 11 {
		_, err := maps.Create(ctx, configMap(fmt.Sprintf("c%d", number), nil), metav1.CreateOptions{})
		must(t, err)
	}
	pages := pager.New(pager.SimplePageFunc(func(options metav1.ListOptions) (object runtime.Object, err error) {
		return maps.List(ctx, options)
	}))
	pages.PageSize = 3
	count := 0
	must(t, pages.EachListItem(ctx, metav1.ListOptions{}, func(runtime.Object) error { count++; return nil }))
	if count != 11 {
		t.Fatalf("%d objects in all pages", count)
	}
}

func TestMetadataAloneIsRead(t *testing.T) {
	config := connect(t, "")
	clients := kubernetes.NewForConfigOrDie(config)
	ctx, namespace := within(t), space(t, clients)
	_, err := clients.CoreV1().ConfigMaps(namespace).Create(ctx, configMap("one", map[string]string{"a": "1"}), metav1.CreateOptions{})
	must(t, err)
	maps := corev1.SchemeGroupVersion.WithResource("configmaps")
	factory := metadatainformer.NewFilteredSharedInformerFactory(metadata.NewForConfigOrDie(config), 0, namespace, nil)
	informer := factory.ForResource(maps)
	informer.Informer()
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	found, err := informer.Lister().ByNamespace(namespace).Get("one")
	must(t, err)
	if found.(*metav1.PartialObjectMetadata).UID == "" {
		t.Fatalf("no metadata: %+v", found)
	}
}

func TestDiscoveryNamesWhatIsServed(t *testing.T) {
	config := connect(t, "")
	asked := &requests{}
	config.WrapTransport = func(next http.RoundTripper) http.RoundTripper { asked.next = next; return asked }
	client := discovery.NewDiscoveryClientForConfigOrDie(config)
	_, lists, err := client.ServerGroupsAndResources()
	must(t, err)
	if len(lists) < 15 {
		t.Fatalf("only %d versions of groups", len(lists))
	}
	if len(asked.asked) != 2 {
		t.Fatalf("discovery is not aggregated: %v", asked.asked)
	}
	preferred, err := discovery.ServerPreferredNamespacedResources(client)
	must(t, err)
	if len(preferred) == 0 {
		t.Fatal("nothing is preferred")
	}
	document, err := client.OpenAPISchema()
	must(t, err)
	if len(document.GetDefinitions().GetAdditionalProperties()) < 300 {
		t.Fatal("the OpenAPI document lacks definitions")
	}
	paths, err := client.OpenAPIV3().Paths()
	must(t, err)
	if _, ok := paths["apis/apps/v1"]; !ok {
		t.Fatalf("no document for apps/v1: %v", paths)
	}
}

func TestALeaseElectsOneLeaderAfterTheOther(t *testing.T) {
	clients := kubernetes.NewForConfigOrDie(connect(t, "application/vnd.kubernetes.protobuf"))
	namespace := space(t, clients)
	leaders := make(chan string, 10)
	candidate := func(ctx context.Context, name string) {
		leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
			Lock: &resourcelock.LeaseLock{
				LeaseMeta:  metav1.ObjectMeta{Name: "leader", Namespace: namespace},
				Client:     clients.CoordinationV1(),
				LockConfig: resourcelock.ResourceLockConfig{Identity: name},
			},
			ReleaseOnCancel: true,
			LeaseDuration:   3 * time.Second,
			RenewDeadline:   2 * time.Second,
			RetryPeriod:     200 * time.Millisecond,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(context.Context) { leaders <- name },
				OnStoppedLeading: func() {},
			},
		})
	}
	first, resign := context.WithCancel(within(t))
	go candidate(first, "first")
	if name := <-leaders; name != "first" {
		t.Fatalf("%s leads", name)
	}
	go candidate(within(t), "second")
	select {
	case name := <-leaders:
		t.Fatalf("%s leads too", name)
	case <-time.After(600 * time.Millisecond):
	}
	resign()
	if name := <-leaders; name != "second" {
		t.Fatalf("%s leads", name)
	}
	lease, err := clients.CoordinationV1().Leases(namespace).Get(within(t), "leader", metav1.GetOptions{})
	must(t, err)
	if *lease.Spec.HolderIdentity != "second" || *lease.Spec.LeaseTransitions < 1 {
		t.Fatalf("%+v", lease.Spec)
	}
}

func TestRecordersLeaveEvents(t *testing.T) {
	clients := kubernetes.NewForConfigOrDie(connect(t, "application/vnd.kubernetes.protobuf"))
	ctx, namespace := within(t), space(t, clients)
	about, err := clients.CoreV1().ConfigMaps(namespace).Create(ctx, configMap("one", nil), metav1.CreateOptions{})
	must(t, err)

	old := record.NewBroadcaster(record.WithContext(ctx))
	old.StartRecordingToSink(&typedcore.EventSinkImpl{Interface: clients.CoreV1().Events(namespace)})
	recorder := old.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "old"})
	for range 3 {
		recorder.Event(about, corev1.EventTypeWarning, "Repeated", "the same again")
	}
	eventually(t, "the repeated event is counted", func() bool {
		found, err := clients.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{FieldSelector: "reason=Repeated"})
		return err == nil && len(found.Items) == 1 && found.Items[0].Count == 3
	})

	current := events.NewBroadcaster(&events.EventSinkImpl{Interface: clients.EventsV1()})
	must(t, current.StartRecordingToSinkWithContext(ctx))
	current.NewRecorder(scheme.Scheme, "current").Eventf(about, nil, corev1.EventTypeNormal, "Noted", "Noting", "it is %s", "so")
	eventually(t, "the event is there in both groups", func() bool {
		found, err := clients.EventsV1().Events(namespace).List(ctx, metav1.ListOptions{FieldSelector: "reason=Noted"})
		if err != nil || len(found.Items) != 1 || found.Items[0].Note != "it is so" {
			return false
		}
		same, err := clients.CoreV1().Events(namespace).Get(ctx, found.Items[0].Name, metav1.GetOptions{})
		return err == nil && same.Message == "it is so"
	})
}
