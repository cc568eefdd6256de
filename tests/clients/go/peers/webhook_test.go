package peers

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// keeper fills in and judges Deployments, as operators written with kubebuilder do.
type keeper struct{}

func (keeper) Default(_ context.Context, found *appsv1.Deployment) error {
	if found.Annotations == nil {
		found.Annotations = map[string]string{}
	}
	found.Annotations["kept"] = "yes"
	return nil
}

func (keeper) ValidateCreate(_ context.Context, found *appsv1.Deployment) (admission.Warnings, error) {
	if found.Annotations["kept"] != "yes" {
		return nil, fmt.Errorf("it was not filled in")
	}
	if *found.Spec.Replicas > 5 {
		return nil, fmt.Errorf("%d replicas are too many", *found.Spec.Replicas)
	}
	return admission.Warnings{"every replica costs something"}, nil
}

func (k keeper) ValidateUpdate(ctx context.Context, old, found *appsv1.Deployment) (admission.Warnings, error) {
	if *found.Spec.Replicas < *old.Spec.Replicas {
		return nil, fmt.Errorf("from %d replicas it may not shrink to %d", *old.Spec.Replicas, *found.Spec.Replicas)
	}
	return k.ValidateCreate(ctx, found)
}

func (keeper) ValidateDelete(_ context.Context, found *appsv1.Deployment) (admission.Warnings, error) {
	if found.Name == "eternal" {
		return nil, fmt.Errorf("%s stays", found.Name)
	}
	return nil, nil
}

// certify writes a certificate for the loopback address into a directory, and gives what trusts it.
func certify(t *testing.T, directory string) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: "webhook"},
		IPAddresses:  []net.IP{net.ParseIP("127.0.0.1")},
		NotBefore:    time.Now().Add(-time.Minute),
		NotAfter:     time.Now().Add(time.Hour),
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	must(t, err)
	encodedKey, err := x509.MarshalECPrivateKey(key)
	must(t, err)
	written := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})
	must(t, os.WriteFile(filepath.Join(directory, "tls.crt"), written, 0o600))
	must(t, os.WriteFile(filepath.Join(directory, "tls.key"),
		pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: encodedKey}), 0o600))
	return written
}

func freePort(t *testing.T) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}

// heard keeps the warnings that the server sends along.
type heard struct{ texts chan string }

func (h heard) HandleWarningHeader(_ int, _ string, text string) { h.texts <- text }

func TestWebhooksOfControllerRuntimeDecide(t *testing.T) {
	config := connect(t, "")
	warnings := heard{make(chan string, 100)}
	config.WarningHandler = warnings
	clients := kubernetes.NewForConfigOrDie(config)
	ctx, namespace := within(t), space(t, clients)
	directory, port := t.TempDir(), freePort(t)
	authority := certify(t, directory)

	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:        clientscheme.Scheme,
		Metrics:       server.Options{BindAddress: "0"},
		WebhookServer: webhook.NewServer(webhook.Options{Host: "127.0.0.1", Port: port, CertDir: directory}),
	})
	must(t, err)
	must(t, ctrl.NewWebhookManagedBy(manager, &appsv1.Deployment{}).WithDefaulter(keeper{}).WithValidator(keeper{}).Complete())
	managing, stop := context.WithCancel(ctx)
	defer stop()
	go func() { _ = manager.Start(managing) }()
	eventually(t, "the webhooks are served", func() bool {
		connection, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			return false
		}
		return connection.Close() == nil
	})

	register(t, clients, namespace, authority, fmt.Sprintf("https://127.0.0.1:%d", port))
	deployments := clients.AppsV1().Deployments(namespace)
	made, err := deployments.Create(ctx, deployment("web"), metav1.CreateOptions{})
	must(t, err)
	if made.Annotations["kept"] != "yes" {
		t.Fatalf("it was not filled in: %v", made.Annotations)
	}
	if text := <-warnings.texts; text != "every replica costs something" {
		t.Fatalf("another warning: %s", text)
	}
	many := deployment("many")
	*many.Spec.Replicas = 6
	_, err = deployments.Create(ctx, many, metav1.CreateOptions{})
	if !apierrors.IsForbidden(err) || !strings.HasSuffix(err.Error(), "denied the request: 6 replicas are too many") {
		t.Fatalf("not refused as it should be: %v", err)
	}
	made.Spec.Replicas = new(int32)
	_, err = deployments.Update(ctx, made, metav1.UpdateOptions{})
	if !apierrors.IsForbidden(err) || !strings.HasSuffix(err.Error(), "from 2 replicas it may not shrink to 0") {
		t.Fatalf("not refused as it should be: %v", err)
	}
	_, err = deployments.Create(ctx, deployment("eternal"), metav1.CreateOptions{})
	must(t, err)
	err = deployments.Delete(ctx, "eternal", metav1.DeleteOptions{})
	if !apierrors.IsForbidden(err) || !strings.HasSuffix(err.Error(), "eternal stays") {
		t.Fatalf("not refused as it should be: %v", err)
	}
	must(t, deployments.Delete(ctx, "web", metav1.DeleteOptions{}))

	// Once nobody answers any more, a request fails with the reason.
	stop()
	eventually(t, "the webhooks are gone", func() bool {
		_, err = deployments.Create(ctx, deployment("late"), metav1.CreateOptions{DryRun: []string{"All"}})
		return apierrors.IsInternalError(err) && strings.Contains(err.Error(), "connection refused")
	})
}

// register leads the server to the webhooks, for the objects of one namespace.
func register(t *testing.T, clients kubernetes.Interface, namespace string, authority []byte, url string) {
	t.Helper()
	none := admissionregistrationv1.SideEffectClassNone
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": namespace}}
	rules := []admissionregistrationv1.RuleWithOperations{{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.OperationAll},
		Rule: admissionregistrationv1.Rule{
			APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Resources: []string{"deployments"},
		},
	}}
	mutate, validate := url+"/mutate-apps-v1-deployment", url+"/validate-apps-v1-deployment"
	configurations := clients.AdmissionregistrationV1()
	mutating, err := configurations.MutatingWebhookConfigurations().Create(within(t),
		&admissionregistrationv1.MutatingWebhookConfiguration{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "go-"},
			Webhooks: []admissionregistrationv1.MutatingWebhook{{
				Name: "mutate.peers.setpoint.example", Rules: rules, NamespaceSelector: selector, SideEffects: &none,
				ClientConfig:            admissionregistrationv1.WebhookClientConfig{URL: &mutate, CABundle: authority},
				AdmissionReviewVersions: []string{"v1"},
			}},
		}, metav1.CreateOptions{})
	must(t, err)
	validating, err := configurations.ValidatingWebhookConfigurations().Create(within(t),
		&admissionregistrationv1.ValidatingWebhookConfiguration{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "go-"},
			Webhooks: []admissionregistrationv1.ValidatingWebhook{{
				Name: "validate.peers.setpoint.example", Rules: rules, NamespaceSelector: selector, SideEffects: &none,
				ClientConfig:            admissionregistrationv1.WebhookClientConfig{URL: &validate, CABundle: authority},
				AdmissionReviewVersions: []string{"v1"},
			}},
		}, metav1.CreateOptions{})
	must(t, err)
	t.Cleanup(func() {
		ctx := context.Background()
		_ = configurations.MutatingWebhookConfigurations().Delete(ctx, mutating.Name, metav1.DeleteOptions{})
		_ = configurations.ValidatingWebhookConfigurations().Delete(ctx, validating.Name, metav1.DeleteOptions{})
	})
}
