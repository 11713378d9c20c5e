package keymap

import (
	"opdeck/internal/act"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"unicode"

	tea "github.com/charmbracelet/bubbletea"
)

func TestNoKeyMeansTwoThings(t *testing.T) {
	for place, keys := range New().Together() {
		seen := map[string]string{}
		for _, k := range keys {
			for _, p := range k.Keys() {
				if other, ok := seen[p]; ok {
					t.Errorf("%s: %q is %s and %s", place, p, other, k.Name)
				}
				seen[p] = k.Name
			}
		}
	}
}

// TestOneLetterOneMeaning: a letter means the same on all screens. A question's answers are not among them: nothing else
// is pressed while it is open, and interface.md fixes them.
func TestOneLetterOneMeaning(t *testing.T) {
	m := New()
	by := map[string][]string{}
	m.each(func(k *Key) {
		for _, p := range k.Keys() {
			if r := []rune(p); len(r) == 1 && unicode.IsLetter(r[0]) && !answers(*k) {
				by[p] = append(by[p], k.Name)
			}
		}
	})
	for letter, names := range by {
		if _, same := verbs[letter]; same != (len(names) > 1) {
			t.Errorf("%q is %s; the same verb: %t", letter, strings.Join(names, ", "), same)
		}
	}
	if len(by) < 40 {
		t.Errorf("only %d letters were found", len(by))
	}
}

func TestEveryKeyIsComplete(t *testing.T) {
	names, known := map[string]bool{}, map[string]bool{}
	for t := tea.KeyType(-128); t < 128; t++ {
		known[tea.KeyMsg{Type: t}.String()] = true
	}
	New().each(func(k *Key) {
		if k.Name == "" || k.Long == "" || k.Binding.Help().Desc == "" || len(k.Keys()) == 0 {
			t.Errorf("incomplete: %+v", *k)
		}
		if names[k.Name] {
			t.Errorf("two keys are called %s", k.Name)
		}
		names[k.Name] = true
		// No key that is needed has only a Ctrl, Alt or AltGr form.
		plain := k.Name == "leave" || k.Name == "nav.halfup" || k.Name == "nav.halfdown" // whole pages and lines do the same
		for _, p := range k.Keys() {
			plain = plain || !strings.HasPrefix(p, "ctrl+") && !strings.HasPrefix(p, "alt+")
			if press := Parse(p); press.Name != p || !k.Match(press) || !known[p] && len(press.Runes) != 1 {
				t.Errorf("%s: %q is no key that a terminal sends", k.Name, p)
			}
		}
		if !plain {
			t.Errorf("%s needs a Ctrl key", k.Name)
		}
	})
	if len(names) < 80 {
		t.Errorf("only %d keys were looked at", len(names))
	}
}

// The keys that the outward contract fixes.
func TestFixedKeys(t *testing.T) {
	m := New()
	for want, k := range map[string]Key{
		"1": m.Global.Operations, "2": m.Global.Operation, "3": m.Global.Documents, "4": m.Global.Compliance,
		"5": m.Global.Limits, "6": m.Global.Session,
		"7": m.Global.Events, "8": m.Global.Audit, "?": m.Global.Help, ":": m.Global.Palette, "o": m.Global.OpenID,
		"esc": m.Global.Back, "q": m.Global.Quit,
		"ctrl+c": m.Global.Leave, "r": m.Global.Reload, "tab": m.Global.Pane, "t": m.Global.Zone, "!": m.Global.Activity,
		"M":     m.Global.Reveal,
		"enter": m.List.Open, "/": m.List.Filter, "s": m.List.Sort, "v": m.List.Views, " ": m.List.Mark, "y": m.Item.CopyID,
		"Y": m.Item.CopyJSON, "J": m.Item.Raw,
		"d": m.Operations.Documents, "x": m.Documents.Remove, "z": m.Documents.Restore, "a": m.Documents.Attach,
		"u": m.Documents.Upload, "R": m.Documents.Replace,
		"S": m.Compliance.Share, "l": m.Compliance.Link, "f": m.Compliance.Finalize,
	} {
		if k.Keys()[0] != want {
			t.Errorf("%s is %q, not %q", k.Name, k.Keys()[0], want)
		}
	}
}

func TestReadOnlyBarsEveryWrite(t *testing.T) {
	m := New()
	m.ReadOnly("This context is read-only.")
	writes := 0
	m.each(func(k *Key) {
		if !k.Writes {
			if !k.Enabled() {
				t.Errorf("%s is off though it only reads", k.Name)
			}
			return
		}
		writes++
		k.On() // what a screen does when the row allows it
		if k.Enabled() || k.Match(k.Msg()) || k.Why() != "This context is read-only." {
			t.Errorf("%s is on in read-only mode", k.Name)
		}
	})
	if writes < 12 {
		t.Errorf("only %d writing keys", writes)
	}
}

func TestRole(t *testing.T) {
	m := New()
	m.Allow(func(k Key) string {
		if k.Act == act.DocumentRemove {
			return "Your role may not."
		}
		return ""
	})
	if m.Documents.Remove.Enabled() || !m.Documents.Attach.Enabled() {
		t.Error("the role bars the wrong key")
	}
}

func TestOffSaysWhy(t *testing.T) {
	k := New().Documents.Remove
	k.Set("The document is locked.")
	if k.Enabled() || k.Match(k.Msg()) || !k.Pressed(k.Msg()) || k.Why() != "The document is locked." {
		t.Error("a key that is off")
	}
	k.Set("")
	if !k.Match(k.Msg()) || k.Why() != "" {
		t.Error("a key that is on again")
	}
	k.Off("")
	if k.Why() == "" {
		t.Error("off without a reason")
	}
}

func TestPastedTextIsNoKey(t *testing.T) {
	k := New().Dialog.Yes
	for name, msg := range map[string]tea.KeyMsg{
		"pasted":  {Type: tea.KeyRunes, Runes: []rune("y"), Paste: true},
		"two":     {Type: tea.KeyRunes, Runes: []rune("yy")},
		"alt":     {Type: tea.KeyRunes, Runes: []rune("y"), Alt: true},
		"answer":  {Type: tea.KeyRunes, Runes: []rune("ly")},
		"newline": {Type: tea.KeyRunes, Runes: []rune("y\n")},
		"capital": {Type: tea.KeyRunes, Runes: []rune("Y")},
		"nothing": {Type: tea.KeyRunes},
	} {
		if k.Match(Read(msg)) {
			t.Errorf("%s is taken for y", name)
		}
	}
}

func TestMapsAreSeparate(t *testing.T) {
	a, b := New(), New()
	a.ReadOnly("no")
	if !b.Documents.Remove.Enabled() {
		t.Error("one console's read-only mode is another's")
	}
}

func TestJoin(t *testing.T) {
	m := New()
	if n := len(Join(m.Nav, m.List)); n != reflect.TypeFor[Nav]().NumField()+reflect.TypeFor[List]().NumField() {
		t.Errorf("%d keys in two groups", n)
	}
}

func TestLabelsAreSafe(t *testing.T) {
	for want, msg := range map[string]tea.KeyMsg{
		"pasted text": {Type: tea.KeyRunes, Runes: []rune("abc")}, "this key": {Type: tea.KeyRunes, Runes: []rune("\u202e")},
		"x": {Type: tea.KeyRunes, Runes: []rune("x")}, "ctrl+b": {Type: tea.KeyCtrlB},
		"space": {Type: tea.KeySpace, Runes: []rune(" ")},
	} {
		if got := Read(msg).Label(); got != want {
			t.Errorf("%q instead of %q", got, want)
		}
	}
}

// What came with other bytes in one read says so, also one by one.
func TestRead(t *testing.T) {
	runes := func(s string) tea.KeyMsg { return tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(s)} }
	alt, pasted := runes("]"), runes("y")
	alt.Alt, pasted.Paste = true, true
	for name, c := range map[string]struct {
		msg  tea.KeyMsg
		want Press
	}{
		"a key":      {runes("y"), Press{Name: "y", Runes: []rune("y")}},
		"a burst":    {runes("yes"), Press{Runes: []rune("yes"), Burst: true}},
		"a paste":    {pasted, Press{Runes: []rune("y"), Pasted: true}},
		"an escape":  {alt, Press{Name: "alt+]", Burst: true}},
		"no letter":  {tea.KeyMsg{Type: tea.KeyPgDown}, Press{Name: "pgdown"}},
		"space":      {tea.KeyMsg{Type: tea.KeySpace, Runes: []rune(" ")}, Press{Name: " ", Runes: []rune(" ")}},
		"as binding": {tea.KeyMsg{Type: tea.KeyCtrlU}, Parse("ctrl+u")},
	} {
		if got := Read(c.msg); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	for _, p := range Read(runes("yy")).Each() {
		if p.Name != "y" || !p.Burst || p.IsText() {
			t.Errorf("%+v", p)
		}
	}
}

// handsOver is how a model that the framework runs hands the framework's key to Read.
var handsOver = regexp.MustCompile(`case tea\.KeyMsg:\n.*keymap\.Read\(msg\)`)

// TestOnlyHere: the framework's key is turned into ours in this package; nothing
// that draws or acts looks at it.
func TestOnlyHere(t *testing.T) {
	for _, dir := range []string{"..", "../list", "../widget", "../../views/*"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatal(dir, err)
		}
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(f, "_test.go") {
				continue
			}
			if strings.Count(string(b), "tea.Key") > len(handsOver.FindAll(b, -1)) {
				t.Errorf("%s looks at the framework's key", f)
			}
		}
	}
}

func TestMarkdown(t *testing.T) {
	got := markdown()
	for _, part := range []string{"| `x` | **remove** | Documents: remove the document (asks) (writes); A customer's files: delete the file", "| `↑` `k` | one line up |",
		"| `space` | mark or unmark the row |"} {
		if !strings.Contains(got, part) {
			t.Errorf("%q is missing in\n%s", part, got)
		}
	}
}
