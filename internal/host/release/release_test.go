package release_test

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"

	"opdeck/internal/host/release"
)

func keys(t *testing.T) (private, public string) {
	t.Helper()
	private, public, err := note.GenerateKey(rand.Reader, "releases")
	if err != nil {
		t.Fatal(err)
	}
	return private, public
}

func signed(t *testing.T, private string) []byte {
	t.Helper()
	list := release.Sums{Version: "1.2.3", Files: []release.File{{"opdeck-linux-amd64", sha256.Sum256([]byte("b"))}, {"opdeck-darwin-arm64", sha256.Sum256([]byte("a"))}}}
	b, err := list.Sign(private + "\n")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestSignedListIsFoundAgain(t *testing.T) {
	private, public := keys(t)
	list, key, err := release.Open(signed(t, private), public+"\n")
	if err != nil || key != "releases" || list.Version != "1.2.3" || len(list.Files) != 2 || list.Files[0].Name != "opdeck-darwin-arm64" {
		t.Fatalf("%+v %q %v", list, key, err)
	}
	sum, err := release.SumOf(strings.NewReader("b"))
	if f, ok := list.Find(sum); err != nil || !ok || f.Name != "opdeck-linux-amd64" {
		t.Errorf("%+v %v %v", f, ok, err)
	}
	if f, ok := list.Find(sha256.Sum256([]byte("c"))); ok {
		t.Errorf("a file that was not released is %+v", f)
	}
}

// Every single changed byte makes the list invalid: the text, the key's name and
// the signature are all covered.
func TestChangedListIsRefused(t *testing.T) {
	private, public := keys(t)
	good := signed(t, private)
	for i := range good {
		if i == len(good)-3 { // base64's last character: its lowest bits hold nothing
			continue
		}
		bad := bytes.Clone(good)
		bad[i] ^= 1
		if list, _, err := release.Open(bad, public); err == nil {
			t.Fatalf("byte %d of %d can be changed: %+v", i, len(good), list)
		}
	}
	if _, _, err := release.Open(good[:len(good)-1], public); err == nil {
		t.Error("a list without its last byte is accepted")
	}
}

func TestForeignKeyAndForeignText(t *testing.T) {
	private, public := keys(t)
	_, other := keys(t)
	if _, _, err := release.Open(signed(t, private), other); err == nil {
		t.Error("a list of another key is accepted")
	}
	if _, _, err := release.Open(signed(t, private), "no key"); !errors.Is(err, release.ErrKey) {
		t.Errorf("%v", err)
	}
	signer, err := note.NewSigner(private)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"something else\n", "opdeck release\n", "opdeck release\n1\nabc  name\n", "opdeck release\n1\n" + strings.Repeat("0", 64) + " name\n"} {
		b, err := note.Sign(&note.Note{Text: text}, signer)
		if err != nil {
			t.Fatal(err)
		}
		if list, _, err := release.Open(b, public); !errors.Is(err, release.ErrText) {
			t.Errorf("%q is read as %+v, %v", text, list, err)
		}
	}
}
