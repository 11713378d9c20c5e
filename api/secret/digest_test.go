package secret

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
)

// TestDigests: a digest depends on key, use and secret, on nothing else, and shows none of them.
func TestDigests(t *testing.T) {
	d, v := NewDigests([]byte("key of the store")), New("sk-0123456789")
	got := d.Of("hook", v)
	if got != NewDigests([]byte("key of the store")).Of("hook", New("sk-0123456789")) || len(got) != 64 {
		t.Errorf("%q is not the same twice", got)
	}
	plain := sha256.Sum256([]byte("sk-0123456789"))
	others := []string{d.Of("share", v), d.Of("hook", New("sk-0123456780")), NewDigests([]byte("another")).Of("hook", v),
		Digests{}.Of("hook", v), hex.EncodeToString(plain[:])}
	for i, other := range others {
		if got == other {
			t.Errorf("%d: the same digest", i)
		}
	}
	if s := fmt.Sprintf("%v %+v %#v", d, d, d); strings.Contains(s, "key of the store") {
		t.Errorf("the key is printed: %s", s)
	}
}
