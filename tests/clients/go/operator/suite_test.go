package operator

import (
	"context"
	"crypto/tls"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

const patience = 20 * time.Second

// What every test uses: the environment, and a client of its administrator that reads no cache.
var (
	environment *envtest.Environment
	admin       client.Client
)

func TestMain(m *testing.M) {
	log.SetLogger(zap.New(zap.UseDevMode(true)))
	os.Exit(run(m))
}

func run(m *testing.M) int {
	environment = &envtest.Environment{
		CRDDirectoryPaths:     []string{filepath.Join("config", "crd")},
		ErrorIfCRDPathMissing: true,
		WebhookInstallOptions: envtest.WebhookInstallOptions{Paths: []string{filepath.Join("config", "webhook")}},
	}
	started := time.Now()
	config, err := environment.Start()
	if err != nil {
		log.Log.Error(err, "the environment does not start")
		return 1
	}
	log.Log.Info("the environment has started", "after", time.Since(started).String())
	defer func() {
		if err := environment.Stop(); err != nil {
			log.Log.Error(err, "the environment does not stop")
		}
	}()

	scheme := runtime.NewScheme()
	if err := errorOf(clientscheme.AddToScheme(scheme), AddToScheme(scheme)); err != nil {
		panic(err)
	}
	admin, err = client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		panic(err)
	}
	hooks := environment.WebhookInstallOptions
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:  scheme,
		Metrics: server.Options{BindAddress: "0"},
		WebhookServer: webhook.NewServer(webhook.Options{
			Host:    hooks.LocalServingHost,
			Port:    hooks.LocalServingPort,
			CertDir: hooks.LocalServingCertDir,
		}),
	})
	if err != nil {
		panic(err)
	}
	if err := errorOf((&Reconciler{manager.GetClient()}).SetupWithManager(manager), Webhook{}.SetupWithManager(manager)); err != nil {
		panic(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- manager.Start(ctx) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			panic(err)
		}
	}()
	waitForWebhooks(net.JoinHostPort(hooks.LocalServingHost, strconv.Itoa(hooks.LocalServingPort)))
	return m.Run()
}

func errorOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func waitForWebhooks(address string) {
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		connection, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true})
		if err == nil {
			_ = connection.Close()
			return
		}
		if time.Now().After(deadline) {
			panic(err)
		}
	}
}

// eventually waits until something is so.
func eventually(t *testing.T, what string, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !so(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it never happened that %s", what)
		}
	}
}
