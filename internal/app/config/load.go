package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"opdeck/internal/domain/index/filter"
	"opdeck/internal/system/filecheck"
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
	var names struct {
		Contexts map[string]toml.Primitive
		Views    map[string]toml.Primitive
		Lend     struct{ Borrowers map[string]toml.Primitive }
	}
	var top map[string]toml.Primitive
	md, err := toml.Decode(string(b), &top)
	if err != nil {
		return Config{}, Mistakes{syntax(path, err)}
	}
	_, _ = toml.Decode(string(b), &names) // what is no section is found below
	c := Default()
	c.Path = path
	for name := range names.Contexts {
		c.Contexts[name] = Context{}
	}
	for name := range names.Views {
		c.Views[name] = View{}
	}
	for name := range names.Lend.Borrowers {
		c.Lend.Borrowers[name] = Borrower{}
	}
	c.fill()
	r := reader{checker: checker{file: path, src: b}, md: md, keys: map[string]key{}, sections: map[string]bool{},
		free: c.Keys}
	sections := c.sections()
	for _, s := range sections {
		for i := range s.at {
			r.sections[s.at[:i+1].String()] = true
		}
		for _, k := range s.keys {
			r.keys[append(slices.Clone(s.at), k.name).String()] = k
		}
	}
	for _, empty := range []string{"contexts", "views", "lend.borrowers"} {
		r.sections[empty] = true
	}
	r.table(nil, top)
	for _, s := range sections {
		if s.kept != nil {
			s.kept()
		}
	}
	if len(r.bad) == 0 {
		c.check(&r.checker)
	}
	if len(r.bad) > 0 {
		slices.SortStableFunc(r.bad, func(a, b Mistake) int { return a.Line - b.Line })
		return Config{}, r.bad
	}
	return c, nil
}

// reader puts the values of a file where its keys say.
type reader struct {
	checker
	md       toml.MetaData
	keys     map[string]key  // by their whole names
	sections map[string]bool // what may be a table
	free     map[string]any  // [keys], whose names the console knows
}

func (r *reader) table(at toml.Key, t map[string]toml.Primitive) {
	for name, value := range t {
		full := append(slices.Clone(at), name)
		if k, is := r.keys[full.String()]; is {
			if err := r.md.PrimitiveDecode(value, k.to); err != nil {
				r.add(needs(k.to), full...)
			}
			continue
		}
		below := r.tableIn(value)
		switch {
		case full.String() == "keys" && below != nil:
			_ = r.md.PrimitiveDecode(value, &r.free)
		case r.sections[full.String()] && below != nil:
			r.table(full, below)
		case r.sections[full.String()] || full.String() == "keys":
			r.add("must be a section: ["+full.String()+"]", full...)
		default:
			r.add(r.unknown(full, below != nil), full...)
		}
	}
}

// tableIn are the members of a table; nil if it is none.
func (r *reader) tableIn(value toml.Primitive) (t map[string]toml.Primitive) {
	if r.md.PrimitiveDecode(value, &t) != nil {
		return nil
	}
	return t
}

// needs says which values a key takes.
func needs(to any) string {
	if _, is := to.(*Duration); is {
		return `a duration like "15s" or "5m" is required`
	}
	switch reflect.TypeOf(to).Elem().Kind() {
	case reflect.Bool:
		return "must be true or false"
	case reflect.Int:
		return "must be a whole number"
	case reflect.Slice:
		return `must be a list of texts, like ["a", "b"]`
	case reflect.Map:
		return "must be a table, like { name = value }"
	default:
		return "must be a text in quotes"
	}
}

// syntax is a mistake of the parser, without the line's content.
func syntax(path string, err error) Mistake {
	m := Mistake{File: path, What: err.Error()}
	var p toml.ParseError
	if errors.As(err, &p) {
		m.Line, m.Key, m.What = p.Position.Line, p.LastKey, p.Message
	}
	return m
}

// unknown is the mistake of a key that no section has: its substitute if it is retired, else the name that is meant.
func (r *reader) unknown(k toml.Key, table bool) string {
	name := k.String()
	if len(k) == 2 && table {
		name = k[0] + ".NAME"
	}
	if instead := retired[name]; instead != "" {
		return "retired: " + instead
	}
	if near := filter.Nearest(k[len(k)-1], names()); near != "" {
		return "unknown key; did you mean " + near + "?"
	}
	return "unknown key"
}

// names are those of all keys and sections.
func names() (out []string) {
	c := Config{Contexts: map[string]Context{"": {}}, Views: map[string]View{"": {}}}
	c.Lend.Borrowers = map[string]Borrower{"": {}}
	for _, s := range c.sections() {
		out = append(out, s.at...)
		for _, k := range s.keys {
			out = append(out, k.name)
		}
	}
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
