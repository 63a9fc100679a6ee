package main

import (
	"encoding/json"
	"os"

	"devops-bench/controlplane/pins"
)

func versions([]string) int {
	if err := json.NewEncoder(os.Stdout).Encode(pins.All()); err != nil {
		return 1
	}
	return 0
}
