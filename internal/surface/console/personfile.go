package console

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"opdeck/api"
	"opdeck/internal/system/wholefile"
)

// personFile is the path of a file of the person in ctx in a subfolder of the state folder; "" if nothing is stored.
// The same name may mean different people over SSH and locally, so their files are separate.
func (d *backend) personFile(ctx context.Context, folder string) string {
	if d.Config.Store.URL == "memory" || d.State == "" {
		return ""
	}
	who, way := api.ActorOf(ctx), "local"
	if who.Via == "ssh" {
		way = "ssh"
	}
	sum := sha256.Sum256([]byte(way + "\x00" + who.Name))
	return filepath.Join(d.State, folder, hex.EncodeToString(sum[:12])+".json")
}

// errDamaged: a person's file is not valid JSON of its kind.
var errDamaged = &api.Error{Op: "read a person's file", Kind: api.Unavailable,
	Public: "your file of columns, views and filters cannot be read; it is renamed to .damaged when the next choice is " +
		"saved."}

// readPersonFile reads a file of at most max bytes into v; if it is missing or too large, v is unchanged; invalid
// JSON is errDamaged.
func readPersonFile(path string, max int64, v any) error {
	if path == "" {
		return nil
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, max+1))
	if err != nil {
		return err
	}
	if int64(len(b)) <= max {
		if json.Unmarshal(b, v) != nil {
			return errDamaged
		}
	}
	return nil
}

// writePersonFile replaces the file atomically: mode 0600 in a folder 0700.
func writePersonFile(path string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return wholefile.Replace(path, append(b, '\n'))
}
