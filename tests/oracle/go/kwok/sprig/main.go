// Records the values of templates with the functions of Sprig, for tests/gotemplate/cases/sprig.json:
//
//	cd tests/oracle/go/kwok && go run ./sprig < ../../../gotemplate/cases/sprig.json > recorded.json
package main

import (
	"encoding/json"
	"os"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"
)

type entry struct {
	Text  string  `json:"text"`
	Value *string `json:"value,omitempty"`
	Fails bool    `json:"fails,omitempty"`
}

func main() {
	var cases []entry
	if err := json.NewDecoder(os.Stdin).Decode(&cases); err != nil {
		panic(err)
	}
	for index := range cases {
		each := &cases[index]
		each.Value, each.Fails = nil, false
		var out strings.Builder
		parsed, err := template.New("value").Funcs(sprig.TxtFuncMap()).Parse(each.Text)
		if err == nil {
			err = parsed.Execute(&out, map[string]any{})
		}
		if err != nil {
			each.Fails = true
			continue
		}
		value := out.String()
		each.Value = &value
	}
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(cases); err != nil {
		panic(err)
	}
}
