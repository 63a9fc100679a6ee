package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Kinds from which the API server builds what it serves, and how fairly, in its own time.
var (
	kinds    = []string{storeRoot + "apiextensions.k8s.io/", storeRoot + "apiregistration.k8s.io/"}
	fairness = []string{storeRoot + "flowschemas/", storeRoot + "prioritylevelconfigurations/"}
	// Nothing shows whether a webhook is in use but a call to it.
	webhooks = []string{storeRoot + "validatingwebhookconfigurations/", storeRoot + "mutatingwebhookconfigurations/"}
)

const (
	// rounds is how often what these kinds were is written back until the API server leaves it so.
	rounds = 4
	// servedTimeout bounds the wait for discovery; it usually follows within a tenth of a second.
	servedTimeout = 5 * time.Second
)

func touches(keys, roots []string) bool {
	return slices.ContainsFunc(keys, func(key string) bool { return below(key, roots) })
}

// discovered names what the API server tells of the kinds that it serves: the same name, the same kinds.
func discovered(ctx context.Context, ids *identities) (string, error) {
	const path = "/apis"
	response, err := get(ctx, ids, path, http.Header{"Accept": {"application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"}})
	if err != nil {
		return "", err
	}
	tag := response.Header.Get("ETag")
	if response.StatusCode != http.StatusOK || tag == "" {
		return "", fmt.Errorf("%s: %s without a name of what is served", path, response.Status)
	}
	return tag, nil
}

// awaitDiscovered is errUnsettled unless discovery comes to tell of the kinds that served names.
func awaitDiscovered(ctx context.Context, ids *identities, served string) error {
	ctx, cancel := context.WithTimeout(ctx, servedTimeout)
	defer cancel()
	followed := func() bool {
		now, err := discovered(ctx, ids)
		return err == nil && now == served
	}
	if !poll(ctx, followed) {
		return errUnsettled
	}
	return nil
}

// awaitFairness returns when the schemas and levels under the changed keys of the store are in use. The API server tells
// which ones it used for a request: a pair that is written after them is asked for until it is, and gone afterwards.
func awaitFairness(ctx context.Context, ids *identities, changed []string) error {
	if !touches(changed, fairness) {
		return nil
	}
	client, err := kubernetes.NewForConfig(ids.protobufConfig(userKubelet, kubeletAgent))
	if err != nil {
		return err
	}
	name := "probe-" + uuid.NewString() // also a user of its own: ours are all exempt
	meta, path := metav1.ObjectMeta{Name: name}, "/"+name
	levels, schemas := client.FlowcontrolV1().PriorityLevelConfigurations(), client.FlowcontrolV1().FlowSchemas()
	level := &flowcontrolv1.PriorityLevelConfiguration{ObjectMeta: meta, Spec: flowcontrolv1.PriorityLevelConfigurationSpec{
		Type: flowcontrolv1.PriorityLevelEnablementLimited,
		Limited: &flowcontrolv1.LimitedPriorityLevelConfiguration{
			NominalConcurrencyShares: new(int32(1)), LimitResponse: flowcontrolv1.LimitResponse{Type: flowcontrolv1.LimitResponseTypeReject},
		},
	}}
	schema := &flowcontrolv1.FlowSchema{ObjectMeta: meta, Spec: flowcontrolv1.FlowSchemaSpec{
		PriorityLevelConfiguration: flowcontrolv1.PriorityLevelConfigurationReference{Name: name},
		MatchingPrecedence:         2,
		Rules: []flowcontrolv1.PolicyRulesWithSubjects{{
			Subjects:         []flowcontrolv1.Subject{{Kind: flowcontrolv1.SubjectKindUser, User: &flowcontrolv1.UserSubject{Name: name}}},
			NonResourceRules: []flowcontrolv1.NonResourcePolicyRule{{Verbs: []string{"get"}, NonResourceURLs: []string{path}}},
		}},
	}}
	made, remove, err := install(ctx, name, levels, level, schemas, schema)
	if err != nil {
		return err
	}
	inUse := func() bool {
		response, err := get(ctx, ids, path, http.Header{"Impersonate-User": {name}})
		return err == nil && response.Header.Get(flowcontrolv1.ResponseHeaderMatchedFlowSchemaUID) == string(made.UID)
	}
	if !poll(ctx, inUse) {
		return fmt.Errorf("schema %s did not come into use", name)
	}
	return remove()
}

// get asks the API server for a path, and is content with any answer. Its body is closed.
func get(ctx context.Context, ids *identities, path string, header http.Header) (*http.Response, error) {
	config := ids.restConfig(userKubelet, kubeletAgent)
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, config.Host+path, nil)
	if err != nil {
		return nil, err
	}
	request.Header = header
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	return response, response.Body.Close()
}
