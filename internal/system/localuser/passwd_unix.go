//go:build unix && !darwin

package localuser

import (
	"io"
	"os"
	"strconv"
)

// maxPasswd bounds what is read of /etc/passwd, in bytes.
const maxPasswd = 16 << 20

func userID() string { return strconv.Itoa(os.Getuid()) }

// nameOf looks in /etc/passwd only. The package os/user asks the name service in
// one build and $USER in the other.
func nameOf(uid string) (name string, known bool) {
	f, err := os.Open("/etc/passwd")
	if err != nil {
		return "", false
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxPasswd))
	if err != nil {
		return "", false
	}
	return passwdName(b, uid)
}
