package console

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
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
		c.chosen = read
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
	now, err := readChoices(path) // another console of the same person may have kept others
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
	if err := writeChoices(path, now); err != nil {
		return &api.Error{Op: "keep columns", Kind: api.Unavailable, Public: "the state folder cannot be written.", Err: err}
	}
	return nil
}

// choicesFile is the person's file; "" where nothing is kept. Whom a name stands
// for differs between SSH and the host, so the two are kept apart.
func (d *desk) choicesFile(ctx context.Context) string {
	if d.Config.Store.URL == "memory" || d.State == "" {
		return ""
	}
	who, way := api.ActorOf(ctx), "local"
	if who.Via == "ssh" {
		way = "ssh"
	}
	sum := sha256.Sum256([]byte(way + "\x00" + who.Name))
	return filepath.Join(d.State, choicesFolder, hex.EncodeToString(sum[:12])+".json")
}

// readChoices reads a file; one that is missing, too large or no JSON holds none.
func readChoices(path string) (map[string][]string, error) {
	none := map[string][]string{}
	if path == "" {
		return none, nil
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return none, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxChoices+1))
	if err != nil {
		return nil, err
	}
	var k kept
	if len(b) > maxChoices || json.Unmarshal(b, &k) != nil || k.Operations == nil {
		return none, nil
	}
	return k.Operations, nil
}

// writeChoices writes the file anew, in one step: mode 0600 in a folder 0700.
func writeChoices(path string, all map[string][]string) error {
	b, err := json.Marshal(kept{all})
	if err != nil {
		return err
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".new-*")
	if err != nil {
		return err
	}
	_, err = f.Write(append(b, '\n'))
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
