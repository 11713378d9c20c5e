//go:build unix && !darwin

package localuser

import (
	"io"
	"os"
	"strconv"
)

// maxPasswd bounds the bytes read of /etc/passwd.
const maxPasswd = 16 << 20

func userID() string { return strconv.Itoa(os.Getuid()) }

// nameOf reads only /etc/passwd. Depending on the build, os/user would use the name service or $USER.
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
