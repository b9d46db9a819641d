// SPDX-License-Identifier: Apache-2.0

// What the reference implementation of CDI makes of texts in YAML: it reads a file by UnmarshalStrict of this library
// (pkg/cdi/spec.go, ParseSpec). The texts stand on the standard input, each behind its length on a line of its own; the
// standard output has a line of JSON for each.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"

	"sigs.k8s.io/yaml"
)

// notes are read as annotations are, and written as whether there are any: nobody asks what they say.
type notes map[string]string

func (notes) MarshalJSON() ([]byte, error) {
	return []byte("true"), nil
}

// record has a field of each type that a specification has.
type record struct {
	Text   string   `json:"text,omitempty"`
	Number int64    `json:"number,omitempty"`
	Small  *uint32  `json:"small,omitempty"`
	Flag   bool     `json:"flag,omitempty"`
	Texts  []string `json:"texts,omitempty"`
	Notes  notes    `json:"notes,omitempty"`
	Part   *record  `json:"part,omitempty"`
	Parts  []record `json:"parts,omitempty"`
}

type outcome struct {
	Value *record `json:"value,omitempty"`
	Error string  `json:"error,omitempty"`
}

func read(text []byte) outcome {
	var value record
	if err := yaml.UnmarshalStrict(text, &value); err != nil {
		return outcome{Error: err.Error()}
	}
	return outcome{Value: &value}
}

func main() {
	input := bufio.NewReader(os.Stdin)
	output := json.NewEncoder(os.Stdout)
	for {
		var length int
		if _, err := fmt.Fscanf(input, "%d\n", &length); err == io.EOF {
			return
		} else if err != nil {
			log.Fatal(err)
		}
		text := make([]byte, length)
		if _, err := io.ReadFull(input, text); err != nil {
			log.Fatal(err)
		}
		if err := output.Encode(read(text)); err != nil {
			log.Fatal(err)
		}
	}
}
