package console

import (
	"context"
	"maps"
	"sync"

	"opdeck/api"
	"opdeck/internal/field"
)

const (
	choicesFolder = "choices" // in the state folder: one file a person
	maxChoices    = 64 << 10  // bytes of such a file
	maxViews      = 200       // choices of one person
)

// choices remembers which columns the person of one console chose, by view. They
// are kept in the state folder, in a file that belongs to that person alone: over
// SSH everybody has their own, by the name that their key stands for. With a store
// in memory nothing is written.
type choices struct {
	mu     sync.Mutex
	chosen map[string][]string // guarded by mu: by view; nil until it was read
}

// kept is the file.
type kept struct {
	Operations map[string][]string `json:"operations"` // by view; "": all that have none of their own
	NoPreview  bool                `json:"no_preview,omitempty"`
}

// Columns is what the person in ctx chose before.
func (d *desk) Columns(ctx context.Context) (map[string][]string, error) {
	c := &d.choices
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.chosen == nil {
		read, err := readChoices(d.choicesFile(ctx))
		if err != nil {
			return nil, err
		}
		c.chosen = read.Operations
	}
	return maps.Clone(c.chosen), nil
}

// KeepColumns remembers a choice for the person in ctx; none forgets it. It holds
// for this console even if it could not be written.
func (d *desk) KeepColumns(ctx context.Context, view string, list []string) error {
	if _, err := field.ParseColumns(list); err != nil {
		return &api.Error{Op: "keep columns", Kind: api.Internal, Public: err.Error(), Err: err}
	}
	c := &d.choices
	c.mu.Lock()
	defer c.mu.Unlock()
	path := d.choicesFile(ctx)
	file, err := readChoices(path) // another console of the same person may have kept others
	now := file.Operations
	if err != nil || path == "" {
		now = maps.Clone(c.chosen)
	}
	if now == nil {
		now = map[string][]string{}
	}
	if delete(now, view); len(list) > 0 && len(now) < maxViews {
		now[view] = list
	}
	c.chosen = now
	if path == "" {
		return nil
	}
	if err := writePersonFile(path, kept{now, file.NoPreview}); err != nil {
		return &api.Error{Op: "keep columns", Kind: api.Unavailable, Public: "the state folder cannot be written.", Err: err}
	}
	return nil
}

// choicesFile is the person's file; "" where nothing is kept.
func (d *desk) choicesFile(ctx context.Context) string { return d.personFile(ctx, choicesFolder) }

// readChoices reads a file; one that is missing or damaged holds none.
func readChoices(path string) (k kept, err error) {
	err = readPersonFile(path, maxChoices, &k)
	if k.Operations == nil {
		k.Operations = map[string][]string{}
	}
	return k, err
}

// previewOff reports whether the person in ctx switched previews off before.
func (d *desk) previewOff(ctx context.Context) bool {
	k, _ := readChoices(d.choicesFile(ctx)) // what cannot be read was not chosen
	return k.NoPreview
}

// keepPreview remembers whether the person in ctx wants previews; where that cannot be
// written it ends with the console.
func (d *desk) keepPreview(ctx context.Context, on bool) {
	d.choices.mu.Lock()
	defer d.choices.mu.Unlock()
	path := d.choicesFile(ctx)
	k, err := readChoices(path)
	if k.NoPreview = !on; err == nil && path != "" {
		_ = writePersonFile(path, k)
	}
}
