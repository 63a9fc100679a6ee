package main

import (
	"bufio"
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/kwok/pkg/apis/internalversion"
	"sigs.k8s.io/kwok/pkg/apis/v1alpha1"
	"sigs.k8s.io/kwok/pkg/utils/expression"
	"sigs.k8s.io/yaml"
)

//go:embed stages/*.yaml
var defaultStageFiles embed.FS

// How a task's stages meet the built-in ones. kwok takes all stages that match an object and draws one by weight;
// those of weight 0 lose against any other. So built-in stages weigh 0, and a task's stages weigh much more than
// the hold stage below, which weighs 1.
const (
	taskWeight = 1_000_000_000
	holdWeight = 1
)

// holdAnnotation set to "false" on a stage leaves its objects to the built-in stages whenever it does not match itself.
const holdAnnotation = "devops-bench/hold"

// stageMap groups stages by the kind of object they move.
type stageMap map[internalversion.StageResourceRef][]*internalversion.Stage

// loadStages returns the built-in stages and those of the files, grouped for kwok. A stage in a file replaces the
// built-in one of the same name.
func loadStages(paths []string) (stageMap, error) {
	var stages []*internalversion.Stage
	replaced := map[string]bool{}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		added, err := parseStages(path, data)
		if err != nil {
			return nil, err
		}
		for _, stage := range added {
			if replaced[stage.Name] {
				return nil, fmt.Errorf("%s: two stages are called %q", path, stage.Name)
			}
			replaced[stage.Name] = true
			stages = append(stages, stage)
			adoptTaskStage(stage)
			if hold := holdStage(stage); hold != nil {
				stages = append(stages, hold)
			}
		}
	}
	defaults, err := defaultStages()
	if err != nil {
		return nil, err
	}
	for _, stage := range defaults {
		if !replaced[stage.Name] {
			stages = append(stages, stage)
		}
	}
	grouped := stageMap{}
	for _, stage := range stages {
		grouped[stage.Spec.ResourceRef] = append(grouped[stage.Spec.ResourceRef], stage)
	}
	return grouped, nil
}

func defaultStages() ([]*internalversion.Stage, error) {
	entries, err := defaultStageFiles.ReadDir("stages")
	if err != nil {
		return nil, err
	}
	var stages []*internalversion.Stage
	for _, entry := range entries {
		data, err := defaultStageFiles.ReadFile("stages/" + entry.Name())
		if err != nil {
			return nil, err
		}
		parsed, err := parseStages(entry.Name(), data)
		if err != nil {
			return nil, err
		}
		stages = append(stages, parsed...)
	}
	return stages, nil
}

// parseStages reads the documents of one file. Only stages are allowed: kwok's other kinds can run commands on the host.
func parseStages(path string, data []byte) ([]*internalversion.Stage, error) {
	var stages []*internalversion.Stage
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for number := 1; ; number++ {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return stages, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: document %d: %w", path, number, err)
		}
		if len(bytes.TrimSpace(withoutComments(document))) == 0 {
			continue
		}
		stage, err := parseStage(document)
		if err != nil {
			return nil, fmt.Errorf("%s: document %d: %w", path, number, err)
		}
		stages = append(stages, stage)
	}
}

func parseStage(document []byte) (*internalversion.Stage, error) {
	external := &v1alpha1.Stage{}
	if err := yaml.UnmarshalStrict(document, external); err != nil {
		return nil, err
	}
	if external.Kind != v1alpha1.StageKind || external.APIVersion != v1alpha1.GroupVersion.String() {
		return nil, fmt.Errorf("is %s %s; only %s %s is allowed",
			external.APIVersion, external.Kind, v1alpha1.GroupVersion, v1alpha1.StageKind)
	}
	stage, err := internalversion.ConvertToInternalStage(external)
	if err != nil {
		return nil, err
	}
	switch {
	case stage.Name == "":
		return nil, errors.New("has no metadata.name")
	case stage.Spec.ResourceRef.Kind == "":
		return nil, fmt.Errorf("stage %s has no spec.resourceRef.kind", stage.Name)
	case stage.Spec.Selector == nil:
		return nil, fmt.Errorf("stage %s has no spec.selector, so it would never apply", stage.Name)
	}
	if stage.Spec.ResourceRef.APIGroup == "" {
		stage.Spec.ResourceRef.APIGroup = "v1"
	}
	for _, match := range stage.Spec.Selector.MatchExpressions {
		if match.JQ == nil {
			continue
		}
		if len(match.JQ.Values) > 0 {
			match.JQ.Key = numbersAsText(match.JQ.Key)
		}
		if _, err := expression.NewRequirement(match.JQ.Key, match.JQ.Operator, match.JQ.Values); err != nil {
			return nil, fmt.Errorf("stage %s: selector %q: %w", stage.Name, match.JQ.Key, err)
		}
	}
	return stage, nil
}

// numbersAsText makes a query compare numbers, which kwok would never find equal to the values of a selector.
func numbersAsText(query string) string {
	return "( " + query + ` ) | if type == "number" then tostring else . end`
}

// adoptTaskStage makes a task's stage win over the built-in ones. A stage of pods that says nothing about deletion leaves
// pods that are being deleted alone.
func adoptTaskStage(stage *internalversion.Stage) {
	stage.Spec.Weight = max(stage.Spec.Weight, 1) * taskWeight
	if stage.Spec.ResourceRef.Kind != "Pod" {
		return
	}
	for _, match := range stage.Spec.Selector.MatchExpressions {
		if strings.Contains(expressionText(match), "deletionTimestamp") {
			return
		}
	}
	stage.Spec.Selector.MatchExpressions = append(stage.Spec.Selector.MatchExpressions, internalversion.MatchExpression{
		JQ: &internalversion.SelectorJQ{Key: ".metadata.deletionTimestamp", Operator: internalversion.SelectorOpDoesNotExist},
	})
}

// holdStage is what keeps the objects of a task's stage from the built-in stages: it has the same selector without the
// parts about status, and does nothing. So an image-pull failure keyed on the image stays until the image is another one,
// and then the built-in stage takes over. A stage that selects by status alone holds nothing.
func holdStage(stage *internalversion.Stage) *internalversion.Stage {
	if stage.Annotations[holdAnnotation] == "false" {
		return nil
	}
	hold := &internalversion.Stage{}
	hold.Name = stage.Name + "-hold"
	hold.Spec.ResourceRef = stage.Spec.ResourceRef
	hold.Spec.Weight = holdWeight
	selector := stage.Spec.Selector.DeepCopy()
	kept := selector.MatchExpressions[:0]
	claims := len(selector.MatchLabels) + len(selector.MatchAnnotations)
	for _, match := range selector.MatchExpressions {
		text := expressionText(match)
		if strings.Contains(text, "status") {
			continue
		}
		kept = append(kept, match)
		if !strings.Contains(text, "deletionTimestamp") {
			claims++
		}
	}
	if claims == 0 {
		return nil
	}
	selector.MatchExpressions = kept
	hold.Spec.Selector = selector
	return hold
}

func expressionText(match internalversion.MatchExpression) string {
	switch {
	case match.JQ != nil:
		return match.JQ.Key
	case match.CEL != nil:
		return match.CEL.Expression
	}
	return ""
}

func withoutComments(document []byte) []byte {
	var kept [][]byte
	for line := range bytes.Lines(document) {
		if trimmed := bytes.TrimSpace(line); !bytes.HasPrefix(trimmed, []byte("#")) && !bytes.Equal(trimmed, []byte("---")) {
			kept = append(kept, line)
		}
	}
	return bytes.Join(kept, nil)
}
