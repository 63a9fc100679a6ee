package main

import (
	"context"
	"path/filepath"
	"time"

	certificatesinformers "k8s.io/client-go/informers/certificates/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/keyutil"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/certificates/approver"
	"k8s.io/kubernetes/pkg/controller/certificates/cleaner"
	"k8s.io/kubernetes/pkg/controller/certificates/rootcacertpublisher"
	"k8s.io/kubernetes/pkg/controller/certificates/signer"
	serviceaccountcontroller "k8s.io/kubernetes/pkg/controller/serviceaccount"
	"k8s.io/kubernetes/pkg/serviceaccount"
)

// addIdentity adds what gives namespaces their service account and certificate bundle, and what signs certificates.
func (s *controllerSet) addIdentity(ctx context.Context, dir string) error {
	core := s.informers.Core().V1()
	accounts, err := serviceaccountcontroller.NewServiceAccountsController(klog.FromContext(ctx), core.ServiceAccounts(), core.Namespaces(),
		s.client, serviceaccountcontroller.DefaultServiceAccountsControllerOptions())
	if err != nil {
		return making("serviceaccount", err)
	}
	s.add(func(ctx context.Context) { accounts.Run(ctx, 1) })

	publisher, err := rootcacertpublisher.NewPublisher(core.ConfigMaps(), core.Namespaces(), s.client, s.ids.ca.certPEM)
	if err != nil {
		return making("root-ca-certificate-publisher", err)
	}
	s.add(func(ctx context.Context) { publisher.Run(ctx, 1) })

	if err := s.addTokens(ctx, dir); err != nil {
		return making("serviceaccount-token", err)
	}
	return making("certificate", s.addCertificates(ctx, dir))
}

// addTokens fills the secrets of type service-account-token.
func (s *controllerSet) addTokens(ctx context.Context, dir string) error {
	key, err := keyutil.PrivateKeyFromFile(filepath.Join(dir, tokenKeyFile))
	if err != nil {
		return err
	}
	generator, err := serviceaccount.JWTTokenGenerator(serviceaccount.LegacyIssuer, key)
	if err != nil {
		return err
	}
	core := s.informers.Core().V1()
	tokens, err := serviceaccountcontroller.NewTokensController(klog.FromContext(ctx), core.ServiceAccounts(), core.Secrets(), s.client,
		serviceaccountcontroller.TokensControllerOptions{TokenGenerator: generator, RootCA: s.ids.ca.certPEM})
	if err != nil {
		return err
	}
	s.addWorkers(tokens.Run)
	return nil
}

// addCertificates signs certificate requests that someone has approved.
func (s *controllerSet) addCertificates(ctx context.Context, dir string) error {
	const certificateTTL = 365 * 24 * time.Hour
	requests := s.informers.Certificates().V1().CertificateSigningRequests()
	certFile, keyFile := filepath.Join(dir, caCertFile), filepath.Join(dir, caKeyFile)
	for _, newSigner := range []signerConstructor{
		signer.NewKubeletServingCSRSigningController,
		signer.NewKubeletClientCSRSigningController,
		signer.NewKubeAPIServerClientCSRSigningController,
		signer.NewLegacyUnknownCSRSigningController,
	} {
		signing, err := newSigner(ctx, s.client, requests, certFile, keyFile, certificateTTL)
		if err != nil {
			return err
		}
		s.addWorkers(signing.Run)
	}
	s.addWorkers(approver.NewCSRApprovingController(ctx, s.client, requests).Run)
	s.add(func(ctx context.Context) {
		cleaner.NewCSRCleanerController(s.client.CertificatesV1().CertificateSigningRequests(), requests).Run(ctx, 1)
	})
	return nil
}

type signerConstructor = func(
	context.Context, kubernetes.Interface, certificatesinformers.CertificateSigningRequestInformer, string, string, time.Duration,
) (*signer.CSRSigningController, error)
