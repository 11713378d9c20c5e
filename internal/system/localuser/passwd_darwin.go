package localuser

import (
	"os"
	"os/user"
	"strconv"
	"syscall"
)

func userID() string { return strconv.Itoa(os.Getuid()) }

// nameOf asks the directory of the system, which keeps ordinary users outside
// /etc/passwd. os/user asks libSystem here with cgo and without; a build with
// osusergo would answer from $USER for the process's own user, so it answers for
// another id too or is not believed.
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
