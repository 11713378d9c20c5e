package console

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"opdeck/api"
	"opdeck/internal/field"
	"opdeck/internal/store/files"
	"opdeck/ui/theme"
	"opdeck/views/operations"
)

const (
	choicesFolder = "choices" // in the state folder: one file a person
	maxChoices    = 256 << 10 // bytes of such a file
	maxViews      = 200       // columns and views of one person
	maxFilters    = 50        // per kind of list
	maxFilterText = 1000      // bytes of a stored filter
)

// choices stores a person's choices in the console: columns by view, their own views, and typed filters. They are in
// the state folder, in a file per person: over SSH by the name of the key. With a store in memory nothing is written.
type choices struct {
	mu   sync.Mutex
	kept *kept // guarded by mu: nil until read
}

// kept is the content of the file.
type kept struct {
	Operations map[string][]string `json:"operations,omitempty"` // columns by view; "": for views without their own
	Views      []keptView          `json:"views,omitempty"`
	Filters    map[string][]string `json:"filters,omitempty"` // by kind of list, most recent first
	NoPreview  bool                `json:"no_preview,omitempty"`
	Theme      string              `json:"theme,omitempty"` // empty: that of the config
}

type keptView struct {
	Name    string   `json:"name"`
	Filter  string   `json:"filter"`
	Sort    string   `json:"sort"`
	Columns []string `json:"columns,omitempty"`
}

// recall returns the choices of the person in ctx. After an error it also returns what the console has in memory.
func (d *backend) recall(ctx context.Context) (kept, error) {
	c := &d.choices
	c.mu.Lock()
	defer c.mu.Unlock()
	var err error
	if c.kept == nil {
		c.kept = &kept{}
		var read kept
		if read, err = readChoices(d.choicesFile(ctx)); err == nil {
			c.kept = &read
		}
	}
	k := c.kept
	return kept{maps.Clone(k.Operations), slices.Clone(k.Views), maps.Clone(k.Filters), k.NoPreview, k.Theme}, err
}

// keepChoice changes the choices of the person in ctx, in memory and in the file, which it reads first: another
// console of the person may have changed it. It renames an unreadable file instead of replacing it.
func (d *backend) keepChoice(ctx context.Context, change func(*kept)) error {
	c := &d.choices
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept == nil {
		c.kept = &kept{}
	}
	path := d.choicesFile(ctx)
	if path == "" {
		change(c.kept)
		return nil
	}
	done := false
	err := locked(path, func() error {
		now, err := readChoices(path)
		if errors.Is(err, errDamaged) {
			if err = os.Rename(path, path+".damaged"); err != nil {
				return err
			}
		}
		if err != nil {
			now = *c.kept
		}
		change(&now)
		c.kept, done = &now, true
		return writePersonFile(path, now)
	})
	if !done {
		change(c.kept)
	}
	if err != nil {
		return &api.Error{Op: "save a choice", Kind: api.Unavailable, Public: "the state folder cannot be written.", Err: err}
	}
	return nil
}

// Waiting for another console that changes the person's file.
const (
	choiceWait = 5 * time.Second // one that holds it longer was stopped
	choicePoll = 5 * time.Millisecond
)

// locked runs fn while no other console of this host changes the file. It fails if another holds the lock for
// choiceWait.
func locked(path string, fn func() error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(filepath.Dir(path), ".lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer f.Close() // releases the lock
	for end := time.Now().Add(choiceWait); ; time.Sleep(choicePoll) {
		switch ours, err := files.Lock(f, true, false); {
		case err != nil:
			return err
		case ours:
			return fn()
		case time.Now().After(end):
			return fmt.Errorf("another opdeck has locked %s for %v", f.Name(), choiceWait)
		}
	}
}

// Columns returns the columns chosen by the person in ctx.
func (d *backend) Columns(ctx context.Context) (map[string][]string, error) {
	k, err := d.recall(ctx)
	return k.Operations, err
}

// KeepColumns stores columns of the person in ctx; an empty list removes them. They apply to this console even if
// they cannot be written.
func (d *backend) KeepColumns(ctx context.Context, view string, list []string) error {
	if _, err := field.ParseColumns(list); err != nil {
		return &api.Error{Op: "save columns", Kind: api.Internal, Public: err.Error(), Err: err}
	}
	return d.keepChoice(ctx, func(k *kept) {
		now := maps.Clone(k.Operations)
		if now == nil {
			now = map[string][]string{}
		}
		if delete(now, view); len(list) > 0 && len(now) < maxViews {
			now[view] = list
		}
		k.Operations = now
	})
}

// OwnViews returns the views saved by the person in ctx.
func (d *backend) OwnViews(ctx context.Context) ([]operations.View, error) {
	k, err := d.recall(ctx)
	var out []operations.View
	for _, v := range k.Views {
		out = append(out,
			operations.View{Name: v.Name, Filter: v.Filter, Sort: v.Sort, Columns: chosenColumns(v.Columns), Own: true})
	}
	return out, err
}

// KeepView replaces the view called name; an empty name adds v, and a nil v deletes the view.
func (d *backend) KeepView(ctx context.Context, name string, v *operations.View) error {
	full := false
	err := d.keepChoice(ctx, func(k *kept) {
		now := slices.Clone(k.Views)
		at := slices.IndexFunc(now, func(o keptView) bool { return o.Name == name })
		switch {
		case v == nil:
			now = slices.DeleteFunc(now, func(o keptView) bool { return o.Name == name })
		case at >= 0 && name != "":
			now[at] = keptView{v.Name, v.Filter, v.Sort, field.ColumnStrings(v.Columns)}
		case len(now) >= maxViews:
			full = true
		default:
			now = slices.DeleteFunc(now, func(o keptView) bool { return o.Name == v.Name })
			now = append(now, keptView{v.Name, v.Filter, v.Sort, field.ColumnStrings(v.Columns)})
		}
		slices.SortFunc(now, func(a, b keptView) int { return strings.Compare(a.Name, b.Name) })
		k.Views = now
	})
	if err == nil && full {
		return &api.Error{Op: "save a view", Kind: api.Usage,
			Public: "no more views can be saved; delete one first."}
	}
	return err
}

// Filters returns the filters typed by the person in ctx in lists of a kind, most recent first.
func (d *backend) Filters(ctx context.Context, kind string) ([]string, error) {
	k, err := d.recall(ctx)
	return k.Filters[kind], err
}

// KeepFilter stores a typed filter.
func (d *backend) KeepFilter(ctx context.Context, kind, text string) error {
	if text == "" || len(text) > maxFilterText {
		return nil
	}
	return d.keepChoice(ctx, func(k *kept) {
		now := maps.Clone(k.Filters)
		if now == nil {
			now = map[string][]string{}
		}
		list := append([]string{text},
			slices.DeleteFunc(slices.Clone(now[kind]), func(o string) bool { return o == text })...)
		now[kind] = list[:min(len(list), maxFilters)]
		k.Filters = now
	})
}

// choicesFile is the path of the person's file; "" if nothing is stored.
func (d *backend) choicesFile(ctx context.Context) string { return d.personFile(ctx, choicesFolder) }

// readChoices reads a file; a missing one is empty. An unreadable one is errDamaged; views with an invalid filter or
// order remain.
func readChoices(path string) (kept, error) {
	if info, err := os.Stat(path); path != "" && err == nil && info.Size() > maxChoices {
		return kept{}, errDamaged
	}
	var k kept
	err := readPersonFile(path, maxChoices, &k)
	if err != nil {
		return kept{}, err
	}
	k.Views = slices.DeleteFunc(k.Views, func(v keptView) bool { return v.Name == "" })
	k.Views = k.Views[:min(len(k.Views), maxViews)]
	return k, nil
}

// previewOff reports whether the person in ctx has switched previews off.
func (d *backend) previewOff(ctx context.Context) bool {
	k, _ := d.recall(ctx) // an unreadable choice counts as none
	return k.NoPreview
}

// keepPreview stores whether the person in ctx wants previews; if that fails, the choice lasts as long as the
// console.
func (d *backend) keepPreview(ctx context.Context, on bool) {
	_ = d.keepChoice(ctx, func(k *kept) { k.NoPreview = !on })
}

// chosenTheme is the theme that the person in ctx has chosen, else the one of the config.
func (d *backend) chosenTheme(ctx context.Context) string {
	if k, _ := d.recall(ctx); slices.Contains(theme.Names(), k.Theme) { // an unreadable choice counts as none
		return k.Theme
	}
	return d.app.Config.UI.Theme
}

// keepTheme stores the theme of the person in ctx.
func (d *backend) keepTheme(ctx context.Context, name string) error {
	return d.keepChoice(ctx, func(k *kept) { k.Theme = name })
}
