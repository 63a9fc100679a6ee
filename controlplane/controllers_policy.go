package main

import (
	"context"

	apiextensionsscheme "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/scheme"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/cel/openapi/resolver"
	"k8s.io/apiserver/pkg/quota/v1/generic"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/kubernetes/pkg/controller"
	"k8s.io/kubernetes/pkg/controller/clusterroleaggregation"
	"k8s.io/kubernetes/pkg/controller/resourcequota"
	"k8s.io/kubernetes/pkg/controller/validatingadmissionpolicystatus"
	generatedopenapi "k8s.io/kubernetes/pkg/generated/openapi"
	quotainstall "k8s.io/kubernetes/pkg/quota/v1/install"
)

// addPolicy adds what keeps quotas, aggregated roles and the type checks of admission policies up to date.
func (s *controllerSet) addPolicy(ctx context.Context, _ string) error {
	discover := s.client.Discovery().ServerPreferredNamespacedResources
	quotas, err := quotainstall.NewQuotaConfigurationForControllers(generic.ListerFuncForResourceFunc(s.informers.ForResource), s.informers)
	if err != nil {
		return making("resourcequota", err)
	}
	quota, err := resourcequota.NewController(ctx, &resourcequota.ControllerOptions{
		QuotaClient:               s.client.CoreV1(),
		ResourceQuotaInformer:     s.informers.Core().V1().ResourceQuotas(),
		ResyncPeriod:              controller.StaticResyncPeriodFunc(discoveryPeriod),
		InformerFactory:           s.allKinds,
		ReplenishmentResyncPeriod: s.resync(),
		DiscoveryFunc:             discover,
		IgnoredResourcesFunc:      quotas.IgnoredResources,
		InformersStarted:          s.started,
		Registry:                  generic.NewRegistry(quotas.Evaluators()),
		UpdateFilter:              quotainstall.DefaultUpdateFilter(),
	})
	if err != nil {
		return making("resourcequota", err)
	}
	s.addWorkers(quota.Run)
	s.add(func(ctx context.Context) { quota.Sync(ctx, discover, discoveryPeriod) })

	s.addWorkers(clusterroleaggregation.NewClusterRoleAggregation(s.informers.Rbac().V1().ClusterRoles(), s.client.RbacV1()).Run)

	schemas := resolver.NewDefinitionsSchemaResolver(generatedopenapi.GetOpenAPIDefinitions, scheme.Scheme, apiextensionsscheme.Scheme).
		Combine(&resolver.ClientDiscoveryResolver{Discovery: s.client.Discovery()})
	policies, err := validatingadmissionpolicystatus.NewController(
		s.informers.Admissionregistration().V1().ValidatingAdmissionPolicies(),
		s.client.AdmissionregistrationV1().ValidatingAdmissionPolicies(),
		&validating.TypeChecker{SchemaResolver: schemas, RestMapper: s.mapper},
	)
	if err != nil {
		return making("validatingadmissionpolicy-status", err)
	}
	s.addWorkers(policies.Run)
	return nil
}
