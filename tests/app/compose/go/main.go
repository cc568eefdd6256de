// Resolves Compose files with compose-go. Each line of the input is a request as JSON, each line of the output its result.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/sirupsen/logrus"
)

type request struct {
	Directory, Name           string
	Files, Profiles, EnvFiles []string
	Environ                   []string
}

type result struct {
	Project  json.RawMessage `json:"project,omitempty"`
	Disabled types.Services  `json:"disabled,omitempty"`
	Models   types.Models    `json:"models,omitempty"`
	Warnings []string        `json:"warnings,omitempty"`
	Error    string          `json:"error,omitempty"`
}

type recorder struct{ messages []string }

func (r *recorder) Levels() []logrus.Level { return []logrus.Level{logrus.WarnLevel} }

func (r *recorder) Fire(entry *logrus.Entry) error {
	r.messages = append(r.messages, entry.Message)
	return nil
}

func resolve(asked request) (made result) {
	defer func() {
		if fault := recover(); fault != nil {
			made.Error = fmt.Sprintf("panic: %v", fault)
		}
	}()
	for _, name := range []string{"HOME", "COMPOSE_DISABLE_ENV_FILE"} {
		os.Unsetenv(name)
		if value, found := types.NewMapping(asked.Environ)[name]; found {
			os.Setenv(name, value)
		}
	}
	warnings := &recorder{}
	logrus.StandardLogger().ReplaceHooks(logrus.LevelHooks{})
	logrus.AddHook(warnings)
	logrus.SetOutput(io.Discard)
	err := os.Chdir(asked.Directory)
	if err != nil {
		return result{Error: err.Error()}
	}
	// The same order as in the command docker compose.
	options, err := cli.NewProjectOptions(asked.Files, cli.WithEnv(asked.Environ), cli.WithEnvFiles(asked.EnvFiles...),
		cli.WithDotEnv, cli.WithConfigFileEnv, cli.WithDefaultConfigPath, cli.WithEnvFiles(asked.EnvFiles...), cli.WithDotEnv,
		cli.WithDefaultProfiles(asked.Profiles...), cli.WithName(asked.Name))
	if err != nil {
		return result{Error: err.Error()}
	}
	project, err := options.LoadProject(context.Background())
	if err != nil {
		return result{Error: err.Error()}
	}
	body, err := project.MarshalJSON()
	if err != nil {
		return result{Error: err.Error()}
	}
	return result{Project: body, Disabled: project.DisabledServices, Models: project.Models, Warnings: warnings.messages}
}

func main() {
	lines, out := bufio.NewScanner(os.Stdin), json.NewEncoder(os.Stdout)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var asked request
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			panic(err)
		}
		out.Encode(resolve(asked))
	}
}
