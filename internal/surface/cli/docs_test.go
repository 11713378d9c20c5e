package cli

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"opdeck/ui/keymap"
)

// guides are the files that people read.
func guides(t *testing.T) map[string]string {
	t.Helper()
	names, err := filepath.Glob("../../../docs/*.md")
	if err != nil || len(names) < 10 {
		t.Fatal(len(names), err)
	}
	out := map[string]string{}
	for _, name := range append(names, "../../../README.md", "../../../config.example.toml",
		"../../../packaging/opdeck.service", "../../../packaging/config.toml") {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		out[filepath.Base(name)] = string(b)
	}
	return out
}

var code = regexp.MustCompile("(?s)`([^`]+)`")

// commandLines are the command lines in a guide: in code within a line, or in a
// block, where what is behind two spaces explains.
func commandLines(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		rest, block := strings.CutPrefix(line, "    ")
		rest = strings.TrimSpace(strings.TrimPrefix(rest, "$ "))
		if block && (strings.HasPrefix(rest, "opdeck ") || strings.HasPrefix(rest, "sudo -u opdeck opdeck ")) {
			cmd, _, _ := strings.Cut(strings.TrimPrefix(rest, "sudo -u opdeck "), "  ")
			out = append(out, cmd)
		}
	}
	for _, m := range code.FindAllStringSubmatch(text, -1) {
		if span := strings.Join(strings.Fields(m[1]), " "); strings.HasPrefix(span, "opdeck ") {
			out = append(out, span)
		}
	}
	return out
}

// shellWords splits a command line as a shell does, as far as guides need it.
func shellWords(line string) []string {
	var out []string
	for _, m := range regexp.MustCompile(`'[^']*'|"[^"]*"|\S+`).FindAllString(line, -1) {
		if m == "|" || m == ">" || m == "<" || m == "&&" || m == "…" || m == "--" {
			break
		}
		out = append(out, strings.Trim(m, `'"`))
	}
	return out
}

// TestGuidesNameWhatThereIs: every command and flag that a guide writes exists.
func TestGuidesNameWhatThereIs(t *testing.T) {
	seen := 0
	for name, text := range guides(t) {
		for _, line := range commandLines(text) {
			seen++
			if err := exists(shellWords(line)[1:]); err != "" {
				t.Errorf("%s: %q: %s", name, line, err)
			}
		}
	}
	if seen < 30 {
		t.Errorf("only %d command lines were found", seen)
	}
}

// exists says what is wrong with a command line.
func exists(args []string) string {
	r := &root{}
	cmd, rest, err := r.command().Find(args)
	if err != nil {
		return err.Error()
	}
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.AddFlagSet(cmd.Flags())
	flags.AddFlagSet(cmd.InheritedFlags())
	cmd.InitDefaultHelpFlag()
	for _, a := range rest {
		switch {
		case strings.HasPrefix(a, "--"):
			flag, _, _ := strings.Cut(a[2:], "=")
			if flags.Lookup(flag) == nil && cmd.Flags().Lookup(flag) == nil {
				return "there is no --" + flag
			}
		case len(a) == 2 && a[0] == '-':
			if flags.ShorthandLookup(a[1:]) == nil {
				return "there is no " + a
			}
		case cmd.HasSubCommands() && len(a) > 0 && a[0] >= 'a' && a[0] <= 'z':
			return "there is no command " + a
		}
	}
	return ""
}

func TestGuideTestSeesMistakes(t *testing.T) {
	for line, wrong := range map[string]bool{
		"opdeck session status --check": false, "opdeck operation list --filter 'status:PENDING amount>=1000' --sort " +
			"-amount -o json": false, "opdeck": false,
		"opdeck session statis": true, "opdeck doctor --fast": true, "opdeck limits -q": true, "opdeck dokter": true,
		"opdeck -c sandbox limits": false,
	} {
		if got := exists(shellWords(line)[1:]); (got != "") != wrong {
			t.Errorf("%s: %q", line, got)
		}
	}
	if got := commandLines("a `opdeck session\n  reset` b\n    opdeck limits   what is used\n    opdeckx\n"); !slices.Equal(got, []string{"opdeck limits", "opdeck session reset"}) {
		t.Errorf("%q", got)
	}
}

// TestGuidesNameKeys: what is in a guide as a key is one.
func TestGuidesNameKeys(t *testing.T) {
	keys := map[string]bool{"up": true, "down": true}
	m := reflect.ValueOf(keymap.New()).Elem()
	for i := range m.NumField() {
		for _, k := range keymap.All(m.Field(i).Interface()) {
			for _, name := range strings.Fields(k.Binding.Help().Key + " " + strings.Join(k.Binding.Keys(), " ")) {
				keys[name] = true
			}
		}
	}
	looks := regexp.MustCompile(`^([A-Za-z0-9/?:!*]|esc|enter|tab|space|pgup|pgdown|home|end|ctrl\+.)$`)
	seen := 0
	for _, name := range []string{"operator.md", "analyst.md", "oncall.md", "admin.md", "README.md"} {
		for _, m := range code.FindAllStringSubmatch(guides(t)[name], -1) {
			if !looks.MatchString(m[1]) {
				continue
			}
			if seen++; !keys[m[1]] {
				t.Errorf("%s: there is no key %q", name, m[1])
			}
		}
	}
	if seen < 40 {
		t.Errorf("only %d keys were found", seen)
	}
}

// TestGuidesNameConfig: `[section] key` of a guide is in the example config.
func TestGuidesNameConfig(t *testing.T) {
	all := guides(t)
	sections, section := map[string]string{}, ""
	for line := range strings.Lines(all["config.example.toml"]) {
		line = strings.TrimSpace(strings.TrimLeft(line, "# "))
		if strings.HasPrefix(line, "[") {
			section = strings.Trim(line, "[]")
			if strings.HasPrefix(section, "contexts.") {
				section = "contexts"
			}
		}
		sections[section] += line + "\n"
	}
	named := regexp.MustCompile("`\\[([a-z]+)\\] ([a-z_]+)")
	seen := 0
	for name, text := range all {
		for _, m := range named.FindAllStringSubmatch(text, -1) {
			if seen++; !regexp.MustCompile(`(?m)^` + m[2] + ` *=`).MatchString(sections[m[1]]) {
				t.Errorf("%s: [%s] has no %s", name, m[1], m[2])
			}
		}
	}
	if seen < 10 {
		t.Errorf("only %d keys were found", seen)
	}
}
