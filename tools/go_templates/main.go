// Records the values of templates by Go's text/template, for tests/gotemplate/cases/go_templates.json:
//
//	go run ./tools/go_templates < tests/gotemplate/cases/go_templates.json > recorded.json
//
// Reads a JSON object with the data and the cases, and writes the same object with the value of each case, or with
// `fails` for a template that Go refuses.
package main

import (
	"encoding/json"
	"os"
	"strings"
	"text/template"
)

type templateCase struct {
	Text  string  `json:"text"`
	Value *string `json:"value,omitempty"`
	Fails bool    `json:"fails,omitempty"`
}

type table struct {
	Data  any            `json:"data"`
	Cases []templateCase `json:"cases"`
}

// Numbers returns the numbers of JSON as a program would write them: as int if they are whole.
func numbers(value any) any {
	switch found := value.(type) {
	case json.Number:
		if whole, err := found.Int64(); err == nil {
			return int(whole)
		}
		fraction, _ := found.Float64()
		return fraction
	case map[string]any:
		for key := range found {
			found[key] = numbers(found[key])
		}
	case []any:
		for index := range found {
			found[index] = numbers(found[index])
		}
	}
	return value
}

func main() {
	var read table
	decoder := json.NewDecoder(os.Stdin)
	decoder.UseNumber()
	if err := decoder.Decode(&read); err != nil {
		panic(err)
	}
	kept, _ := json.Marshal(read.Data)
	data := numbers(read.Data)
	for index := range read.Cases {
		each := &read.Cases[index]
		each.Value, each.Fails = nil, false
		var out strings.Builder
		parsed, err := template.New("value").Parse(each.Text)
		if err == nil {
			err = parsed.Execute(&out, data)
		}
		if err != nil {
			each.Fails = true
			continue
		}
		value := out.String()
		each.Value = &value
	}
	read.Data = json.RawMessage(kept)
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(read); err != nil {
		panic(err)
	}
}
