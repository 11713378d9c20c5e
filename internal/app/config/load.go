package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"

	"opdeck/internal/system/filecheck"
)

var (
	errDuration = errors.New(`a duration like "15s" or "5m" is required`)
	errAge      = errors.New(`days like "90d", a duration like "36h", or "forever" is required`)
)

const maxFile = 1 << 20 // bytes

// Mistake is one error in a config file.
type Mistake struct {
	File string
	Line int // 0: the whole file
	Key  string
	What string
}

func (m Mistake) Error() string {
	at := m.File
	if m.Line > 0 {
		at = fmt.Sprintf("%s:%d", m.File, m.Line)
	}
	if m.Key != "" {
		return fmt.Sprintf("%s: %s: %s", at, m.Key, m.What)
	}
	return at + ": " + m.What
}

// Mistakes lists all errors in a file by line.
type Mistakes []Mistake

func (m Mistakes) Error() string {
	lines := make([]string, len(m))
	for i, x := range m {
		lines[i] = x.Error()
	}
	return strings.Join(lines, "\n")
}

// System are the places that the packages use. The zero value has none.
type System struct{ Config, State string }

// Found is where the config file and the state folder are.
type Found struct {
	Path   string   // the file; if there is none, Own
	Own    string   // the user's: where opdeck config init creates one
	Named  bool     // a flag or the environment names it, so that its absence is an error
	Looked []string // the files that were searched for, in order
	State  string
}

// Find finds the config file: flag, else $OPDECK_CONFIG, else $XDG_CONFIG_HOME/opdeck/config.toml (default
// ~/.config), else the system's. The state folder is the flag's, else $OPDECK_STATE, else the system's if it exists and
// the config is the system's, else $XDG_STATE_HOME/opdeck (default ~/.local/state).
func Find(configFlag, stateFlag string, env func(string) string, system System) Found {
	own := filepath.Join(xdg(env, "XDG_CONFIG_HOME", ".config"), "opdeck", "config.toml")
	out := Found{Path: own, Own: own, Looked: []string{own}}
	if system.Config != "" {
		out.Looked = append(out.Looked, system.Config)
	}
	if named := cmp.Or(configFlag, env("OPDECK_CONFIG")); named != "" {
		out.Path, out.Own, out.Named = named, named, true
	} else if !there(own) && there(system.Config) {
		out.Path = system.Config
	}
	out.State = cmp.Or(stateFlag, env("OPDECK_STATE"))
	if out.State == "" && out.Path == system.Config && there(system.State) {
		out.State = system.State
	}
	if out.State == "" {
		out.State = filepath.Join(xdg(env, "XDG_STATE_HOME", filepath.Join(".local", "state")), "opdeck")
	}
	return out
}

func there(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Load reads and checks the file that was found, see [Load].
func (f Found) Load() (Config, error) { return Load(f.Path, f.Named) }

func xdg(env func(string) string, name, under string) string {
	if p := env(name); filepath.IsAbs(p) {
		return p
	}
	home := env("HOME")
	if home == "" {
		home, _ = os.UserHomeDir()
	}
	return filepath.Join(home, under)
}

// Load reads and checks the file. It must belong to this user or to root and be writable by no other user, because it
// names commands to run, the address that gets the password, and who may log in. A missing file gives the defaults
// unless it was named. Errors are Mistakes.
func Load(path string, named bool) (Config, error) {
	b, err := read(path)
	if errors.Is(err, os.ErrNotExist) && !named {
		return Default(), nil
	}
	if err != nil {
		return Config{}, Mistakes{{File: path, What: reason(err)}}
	}
	return Parse(path, b)
}

func read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err == nil {
		err = filecheck.Trusted(path, st)
	}
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(b) > maxFile {
		return nil, fmt.Errorf("larger than %d bytes", maxFile)
	}
	return b, err
}

func reason(err error) string {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}

// Parse parses and checks the text of a config file; path is for messages.
func Parse(path string, b []byte) (Config, error) {
	b = bytes.TrimPrefix(b, []byte("\xef\xbb\xbf"))
	c := Default()
	if md, err := decodeContexts(b, &c); err != nil {
		return Config{}, Mistakes{syntax(path, err)}
	} else if extra := slices.DeleteFunc(md.Undecoded(), ofKeys); len(extra) > 0 {
		return Config{}, unknownKeys(path, b, md, extra)
	}
	c.Path = path
	if bad := c.check(path, b); len(bad) > 0 {
		return Config{}, bad
	}
	return c, nil
}

// ofKeys reports whether a key is one of [keys], whose names the console knows.
func ofKeys(k toml.Key) bool { return len(k) > 1 && k[0] == "keys" }

// decodeContexts decodes into c and starts each context from its defaults; map values would otherwise start from
// zero.
func decodeContexts(src []byte, c *Config) (toml.MetaData, error) {
	var names struct {
		Contexts map[string]toml.Primitive `toml:"contexts"`
	}
	nameMeta, err := toml.Decode(string(src), &names)
	if err != nil {
		return toml.MetaData{}, err
	}
	perMinute := c.Limits.PerMinute
	md, err := toml.Decode(string(src), c)
	if err != nil {
		return md, err
	}
	for class, n := range perMinute { // a file that sets one class keeps the others
		if _, ok := c.Limits.PerMinute[class]; !ok {
			c.Limits.PerMinute[class] = n
		}
	}
	for name, b := range c.Lend.Borrowers {
		c.Lend.Borrowers[name] = b.read(src, name)
	}
	for name, prim := range names.Contexts {
		x := defaultContext(name)
		if err := nameMeta.PrimitiveDecode(prim, &x); err != nil {
			return md, err
		}
		c.Contexts[name] = x
	}
	return md, nil
}

// lastKey matches a type mistake in the decoder's error text; there is no error type for it.
var lastKey = regexp.MustCompile(`^toml: line (\d+) \(last key "([^"]*)"\): (.*)$`)

// syntax converts the decoder's error to a Mistake without the line's content.
func syntax(path string, err error) Mistake {
	m := Mistake{File: path, What: err.Error()}
	var p toml.ParseError
	if errors.As(err, &p) {
		m.Line, m.Key, m.What = p.Position.Line, p.LastKey, p.Message
	}
	if at := lastKey.FindStringSubmatch(m.What); at != nil && m.Line == 0 {
		m.Line, _ = strconv.Atoi(at[1])
		m.Key, m.What = at[2], at[3]
	}
	for _, known := range []error{errDuration, errAge} {
		if errors.Is(err, known) {
			m.What = known.Error()
		}
	}
	return m
}

func unknownKeys(path string, b []byte, md toml.MetaData, extra []toml.Key) Mistakes {
	var out Mistakes
	for _, k := range extra {
		covered := slices.ContainsFunc(out, func(m Mistake) bool { return strings.HasPrefix(k.String(), m.Key+".") })
		if !covered {
			out = append(out, Mistake{File: path, Line: lineOf(b, k), Key: k.String(), What: unknown(md, k)})
		}
	}
	slices.SortStableFunc(out, func(a, b Mistake) int { return a.Line - b.Line })
	return out
}

// MistakeAt is a mistake in the value of a key, with its line if the file can still be read.
func (c Config) MistakeAt(what string, key ...string) Mistake {
	b, _ := read(c.Path) // without it the line is not known
	return Mistake{File: c.Path, Line: lineOf(b, key), Key: toml.Key(key).String(), What: what}
}

// lineOf finds the line of a key: under its table's header, dotted, or as a header itself; 0 if it is written in
// another way.
func lineOf(b []byte, key toml.Key) int {
	table := ""
	for i, line := range strings.Split(string(b), "\n") {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			table = strings.Trim(strings.SplitN(line, "#", 2)[0], "[] \t")
			if same(table, key) || strings.HasPrefix(normal(table), key.String()+".") {
				return i + 1
			}
			continue
		}
		name, rest, ok := strings.Cut(line, "=")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		full := strings.TrimPrefix(table+"."+strings.TrimSpace(name), ".")
		if same(full, key) || strings.HasPrefix(key.String(), normal(full)+".") && strings.Contains(rest, key[len(key)-1]) {
			return i + 1
		}
	}
	return 0
}

func normal(s string) string { return strings.NewReplacer(`"`, "", `'`, "", " ", "").Replace(s) }

func same(written string, key toml.Key) bool {
	return normal(written) == normal(key.String())
}

// retired are the keys that left, with what to write or do instead. The name of a section that a person chose is NAME.
var retired = map[string]string{
	"audit.witnesses": "keep what opdeck audit checkpoint prints, and compare with opdeck audit verify --against FILE",
	"ui.viewer":       "save a document with w, or with opdeck document download, and open the file",
	"notify.NAME": "write command, or url with secret_env or secret_file, and min below [notify]; it has one receiver, " +
		"other rules belong to Alertmanager (packaging/alerts.yml)",
	"backup.passphrase_env":     "put the passphrase in " + PassphraseEnv + ", or write passphrase_file",
	"backup.passphrase_command": "write passphrase_file, or put what the command prints in " + PassphraseEnv,
	"notify.on":                 "the begin and end of a first cause and writes that wait for approval are always told",
	"notify.for":                "use the for of a rule in packaging/alerts.yml",
	"notify.after":              "a write in doubt is a cause and is told as one",
	"notify.view":               viewRule,
	"notify.when":               viewRule,
	"notify.by":                 viewRule,
	"notify.zone":               viewRule,
}

const viewRule = "let a timer of the host run opdeck operation list --view NAME -o json and judge its total"

// unknown is the mistake of a key that no section has: its substitute if it is retired, else the name that is meant.
func unknown(md toml.MetaData, k toml.Key) string {
	name := k.String()
	if len(k) > 2 || len(k) == 2 && md.Type(k...) == "Hash" {
		name = k[0] + ".NAME"
	}
	if instead := retired[name]; instead != "" {
		return "retired: " + instead
	}
	return "unknown key" + similar(k)
}
