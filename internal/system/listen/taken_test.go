package listen

import (
	"net"
	"testing"
)

// TestTaken: an address is taken while a socket listens on it, ours while that is of this program, and free again
// after the look.
func TestTaken(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	if taken, err := Taken(addr); !taken || err != nil {
		t.Errorf("%v, %v", taken, err)
	}
	ours := Ours(addr)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if taken, err := Taken(addr); taken || err != nil {
			t.Errorf("%v, %v", taken, err)
		}
	}
	if again := Ours(addr); again {
		t.Error("nobody listens, and it is ours")
	}
	if _, err := Taken("203.0.113.7:9"); err == nil {
		t.Error("an address of another host can be opened")
	}
	t.Logf("seen as ours: %v", ours)
}
