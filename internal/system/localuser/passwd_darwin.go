package localuser

import (
	"os"
	"os/user"
	"strconv"
	"syscall"
)

func userID() string { return strconv.Itoa(os.Getuid()) }

// nameOf asks the system's directory, which keeps ordinary users outside /etc/passwd. os/user asks libSystem here
// with and without cgo; a build with osusergo would take $USER for its own user, so it is checked with another id
// first.
func nameOf(uid string) (name string, known bool) {
	if u, err := user.LookupId("0"); err != nil || u.Username != "root" {
		return "", false
	}
	u, err := user.LookupId(uid)
	if err != nil || u.Uid != uid || u.Username == "" {
		return "", false
	}
	return u.Username, true
}

func loginUID() string { return "" }

func bootID() string {
	id, err := syscall.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return ""
	}
	return id
}

func mapped() string { return "" }
