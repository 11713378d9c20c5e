package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/BurntSushi/toml"
	"github.com/spf13/cobra"

	"opdeck/internal/act"
	"opdeck/internal/app/config"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/index/filter"
)

var configCommands = commands{
	act.ConfigInit: configInitCommand, act.ConfigCheck: configCheckCommand, act.ConfigShow: configShowCommand,
	act.ConfigPath: configPathCommand,
}

// found is where the config and the state are.
func (r *root) found() config.Found {
	return config.Find(r.config, r.state, r.env.Getenv, r.env.System)
}

// loadConfig reads the config file.
func (r *root) loadConfig() (config.Config, error) { return r.found().Load() }

// pathJSON holds the paths of the config file and the state folder.
type pathJSON struct {
	Config string `json:"config"`
	Exists bool   `json:"exists"` // the file
	State  string `json:"state"`
}

func configPathCommand(r *root) *cobra.Command {
	return alone(r, &cobra.Command{}, func(_ context.Context, _ []string, out one[pathJSON]) error {
		at := r.found()
		_, err := os.Stat(at.Path)
		if err != nil && r.output == "table" {
			r.say("No such file yet. opdeck config init creates one.")
		}
		return out.data(pathJSON{at.Path, err == nil, at.State}, at.Path)
	})
}

// checkViews checks the filters and orders of saved views.
func checkViews(path string, cfg config.Config) config.Mistakes {
	var bad config.Mistakes
	for name, v := range cfg.Views {
		if _, err := filter.Parse(v.Filter); err != nil {
			bad = append(bad, config.Mistake{File: path, Key: "views." + name + ".filter", What: err.Error()})
		}
		if _, err := index.ParseSort(v.Sort); err != nil {
			bad = append(bad, config.Mistake{File: path, Key: "views." + name + ".sort", What: err.Error()})
		}
	}
	return bad
}

func configShowCommand(r *root) *cobra.Command {
	return alone(r, &cobra.Command{}, func(_ context.Context, _ []string, out one[map[string]any]) error {
		cfg, err := r.loadConfig()
		if err != nil {
			return err
		}
		var b bytes.Buffer
		if err := toml.NewEncoder(&b).Encode(config.WithoutSecrets(cfg)); err != nil {
			return fmt.Errorf("config: %w", err)
		}
		var m map[string]any
		if _, err := toml.Decode(b.String(), &m); err != nil {
			return fmt.Errorf("config: %w", err)
		}
		var lines strings.Builder
		for line := range strings.Lines(b.String()) {
			lines.WriteString(oneLine(strings.TrimRight(line, "\n")) + "\n")
		}
		return out.text(m, lines.String())
	})
}
