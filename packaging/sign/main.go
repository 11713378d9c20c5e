// Command sign signs the checksums of a release.
//
//	go run ./packaging/sign -new NAME KEYFILE    makes a key and prints its public half
//	go run ./packaging/sign KEYFILE VERSION DIST writes DIST/SHA256SUMS.note
package main

import (
	"crypto/rand"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/mod/sumdb/note"

	"opdeck/internal/host/release"
)

func main() {
	name := flag.String("new", "", "make a key of this `NAME`")
	flag.Parse()
	var err error
	switch {
	case *name != "" && flag.NArg() == 1:
		err = makeKey(*name, flag.Arg(0))
	case *name == "" && flag.NArg() == 3:
		err = sign(flag.Arg(0), flag.Arg(1), flag.Arg(2))
	default:
		flag.Usage()
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "sign:", err)
		os.Exit(1)
	}
}

// makeKey writes a new private key to a file that must not exist yet.
func makeKey(name, file string) error {
	private, public, err := note.GenerateKey(rand.Reader, name)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(f, private); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	fmt.Println(public)
	return nil
}

// sign lists the regular files of dist with their sums and signs the list.
func sign(keyFile, version, dist string) error {
	key, err := os.ReadFile(keyFile)
	if err != nil {
		return err
	}
	list := release.Sums{Version: version}
	err = filepath.WalkDir(dist, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || d.Name() == release.FileName {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		sum, err := release.SumOf(f)
		name, relErr := filepath.Rel(dist, path)
		list.Files = append(list.Files, release.File{Name: filepath.ToSlash(name), Sum: sum})
		if err == nil {
			err = relErr
		}
		return err
	})
	if err != nil {
		return err
	}
	signed, err := list.Sign(string(key))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dist, release.FileName), signed, 0o644)
}
