package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// policyRefresh is how often the API server takes changed policies into use.
const policyRefresh = time.Second

// awaitAdmission returns when the policies and parameters under the changed keys of the store are in use. The API server
// does not tell: a policy that is written after them is probed until it is in use, and gone afterwards.
func awaitAdmission(ctx context.Context, ids *identities, changed []string) error {
	validating := touches(changed, []string{storeRoot + "validatingadmissionpolicies/", storeRoot + "validatingadmissionpolicybindings/"})
	mutating := touches(changed, []string{storeRoot + "mutatingadmissionpolicies/", storeRoot + "mutatingadmissionpolicybindings/"})
	if !validating && !mutating {
		return nil
	}
	client, err := kubernetes.NewForConfig(ids.protobufConfig(userKubelet, kubeletAgent))
	if err != nil {
		return err
	}
	probe := probe{client: client, name: "probe-" + uuid.NewString()}
	if validating {
		if err := probe.run(ctx, probe.validating); err != nil {
			return err
		}
	}
	if mutating {
		return probe.run(ctx, probe.mutating)
	}
	return nil
}

// probe is a policy with a binding and a parameter, all of one name, that concerns nothing but a Lease of this name.
type probe struct {
	client kubernetes.Interface
	name   string
}

// run makes the parameter and what install makes, waits until a request shows them, and removes all of it.
func (p probe) run(ctx context.Context, install func(context.Context, metav1.ObjectMeta) (remove func() error, err error)) error {
	meta := metav1.ObjectMeta{Name: p.name}
	maps := p.client.CoreV1().ConfigMaps(metav1.NamespaceSystem)
	if _, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: meta}, metav1.CreateOptions{}); err != nil {
		return err
	}
	remove, err := install(ctx, meta)
	if err != nil {
		return err
	}
	if !poll(ctx, func() bool { return p.inUse(ctx) }) {
		return fmt.Errorf("policy %s did not come into use", p.name)
	}
	if err := remove(); err != nil {
		return err
	}
	return maps.Delete(ctx, p.name, metav1.DeleteOptions{})
}

// inUse tells whether the policy answers a request that changes nothing.
func (p probe) inUse(ctx context.Context) bool {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: p.name}}
	made, err := p.client.CoordinationV1().Leases(metav1.NamespaceSystem).Create(ctx, lease, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err == nil {
		return len(made.Labels) > 0
	}
	if !strings.Contains(err.Error(), p.name) && ctx.Err() == nil {
		// Somebody else's policy answers first. Two refreshes are as good.
		time.Sleep(2 * policyRefresh)
	}
	return ctx.Err() == nil
}

// collection is where objects of one kind are made and removed.
type collection[T any] interface {
	Create(ctx context.Context, one *T, options metav1.CreateOptions) (*T, error)
	Delete(ctx context.Context, name string, options metav1.DeleteOptions) error
}

// install makes an object, and one of the same name that puts it to use; remove takes both away. It returns the second.
func install[A, B any](
	ctx context.Context, name string, objects collection[A], object *A, uses collection[B], use *B,
) (made *B, remove func() error, err error) {
	if _, err := objects.Create(ctx, object, metav1.CreateOptions{}); err != nil {
		return nil, nil, err
	}
	made, err = uses.Create(ctx, use, metav1.CreateOptions{})
	return made, func() error {
		if err := uses.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			return err
		}
		return objects.Delete(ctx, name, metav1.DeleteOptions{})
	}, err
}

func (p probe) validating(ctx context.Context, meta metav1.ObjectMeta) (func() error, error) {
	policies, bindings := p.client.AdmissionregistrationV1().ValidatingAdmissionPolicies(), p.client.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings()
	policy := &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: meta, Spec: admissionv1.ValidatingAdmissionPolicySpec{
		ParamKind: paramKind(), MatchConstraints: p.match(), Validations: []admissionv1.Validation{{Expression: "false", Message: p.name}},
	}}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: meta, Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
		PolicyName: p.name, ParamRef: p.param(), ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
	}}
	_, remove, err := install(ctx, p.name, policies, policy, bindings, binding)
	return remove, err
}

func (p probe) mutating(ctx context.Context, meta metav1.ObjectMeta) (func() error, error) {
	policies, bindings := p.client.AdmissionregistrationV1().MutatingAdmissionPolicies(), p.client.AdmissionregistrationV1().MutatingAdmissionPolicyBindings()
	label := fmt.Sprintf(`Object{metadata: Object.metadata{labels: {"probe": %q}}}`, p.name)
	policy := &admissionv1.MutatingAdmissionPolicy{ObjectMeta: meta, Spec: admissionv1.MutatingAdmissionPolicySpec{
		ParamKind: paramKind(), MatchConstraints: p.match(), ReinvocationPolicy: admissionv1.NeverReinvocationPolicy,
		Mutations: []admissionv1.Mutation{{
			PatchType: admissionv1.PatchTypeApplyConfiguration, ApplyConfiguration: &admissionv1.ApplyConfiguration{Expression: label},
		}},
	}}
	binding := &admissionv1.MutatingAdmissionPolicyBinding{ObjectMeta: meta, Spec: admissionv1.MutatingAdmissionPolicyBindingSpec{
		PolicyName: p.name, ParamRef: p.param(),
	}}
	_, remove, err := install(ctx, p.name, policies, policy, bindings, binding)
	return remove, err
}

func paramKind() *admissionv1.ParamKind {
	return &admissionv1.ParamKind{APIVersion: "v1", Kind: "ConfigMap"}
}

func (p probe) param() *admissionv1.ParamRef {
	return &admissionv1.ParamRef{Name: p.name, Namespace: metav1.NamespaceSystem, ParameterNotFoundAction: new(admissionv1.AllowAction)}
}

func (p probe) match() *admissionv1.MatchResources {
	return &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{
		ResourceNames: []string{p.name},
		RuleWithOperations: admissionv1.RuleWithOperations{
			Operations: []admissionv1.OperationType{admissionv1.Create},
			Rule: admissionv1.Rule{
				APIGroups: []string{coordinationv1.GroupName}, APIVersions: []string{"v1"}, Resources: []string{"leases"},
			},
		},
	}}}
}
