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
	"opdeck/views/operations"
)

const (
	choicesFolder = "choices" // in the state folder: one file a person
	maxChoices    = 256 << 10 // bytes of such a file
	maxViews      = 200       // choices of one person, and views
	maxFilters    = 50        // of one kind of list
	maxFilterText = 1000      // bytes of a filter that is kept
)

// choices remembers what the person of one console chose: columns by view, views of
// their own, and the filters that they typed. It is kept in the state folder, in a
// file that belongs to that person alone: over SSH everybody has their own, by the
// name that their key stands for. With a store in memory nothing is written.
type choices struct {
	mu   sync.Mutex
	kept *kept // guarded by mu: nil until it was read
}

// kept is the file.
type kept struct {
	Operations map[string][]string `json:"operations,omitempty"` // columns by view; "": all that have none of their own
	Views      []keptView          `json:"views,omitempty"`
	Filters    map[string][]string `json:"filters,omitempty"` // by kind of list, the latest first
	NoPreview  bool                `json:"no_preview,omitempty"`
}

type keptView struct {
	Name    string   `json:"name"`
	Filter  string   `json:"filter"`
	Sort    string   `json:"sort"`
	Columns []string `json:"columns,omitempty"`
}

// recall gives what the person in ctx chose before. With an error what the console
// holds in memory comes as well.
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
	return kept{maps.Clone(k.Operations), slices.Clone(k.Views), maps.Clone(k.Filters), k.NoPreview}, err
}

// keepChoice changes what the person in ctx chose, in memory and in the file, which
// is read again first: another console of the same person may have changed it. A file
// that cannot be read is put aside, not lost.
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

// Times of a console that waits until another has changed the person's file.
const (
	choiceWait = 5 * time.Second // one that keeps it longer was stopped
	choicePoll = 5 * time.Millisecond
)

// locked runs fn while no other console of this host changes the file. It fails when
// another keeps it for choiceWait.
func locked(path string, fn func() error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(filepath.Dir(path), ".lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer f.Close() // ends the lock
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

// Columns is what the person in ctx chose before.
func (d *backend) Columns(ctx context.Context) (map[string][]string, error) {
	k, err := d.recall(ctx)
	return k.Operations, err
}

// KeepColumns remembers a choice for the person in ctx; none forgets it. It holds
// for this console even if it could not be written.
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

// OwnViews are the views that the person in ctx saved.
func (d *backend) OwnViews(ctx context.Context) ([]operations.View, error) {
	k, err := d.recall(ctx)
	var out []operations.View
	for _, v := range k.Views {
		out = append(out,
			operations.View{Name: v.Name, Filter: v.Filter, Sort: v.Sort, Columns: chosenColumns(v.Columns), Own: true})
	}
	return out, err
}

// KeepView puts a view in the place of the one called name; an empty name adds it,
// and nil deletes it.
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

// Filters are those that the person in ctx typed in lists of a kind, the latest first.
func (d *backend) Filters(ctx context.Context, kind string) ([]string, error) {
	k, err := d.recall(ctx)
	return k.Filters[kind], err
}

// KeepFilter remembers a filter that was typed.
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

// choicesFile is the person's file; "" where nothing is kept.
func (d *backend) choicesFile(ctx context.Context) string { return d.personFile(ctx, choicesFolder) }

// readChoices reads a file; one that is missing holds none. What cannot be read as
// a choice fails as errDamaged; views whose filter or order is wrong stay.
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

// previewOff reports whether the person in ctx switched previews off before.
func (d *backend) previewOff(ctx context.Context) bool {
	k, _ := d.recall(ctx) // what cannot be read was not chosen
	return k.NoPreview
}

// keepPreview remembers whether the person in ctx wants previews; where that cannot be
// written it ends with the console.
func (d *backend) keepPreview(ctx context.Context, on bool) {
	_ = d.keepChoice(ctx, func(k *kept) { k.NoPreview = !on })
}
