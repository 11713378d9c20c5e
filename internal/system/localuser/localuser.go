// Package localuser says who the person at this host is: the user id that the
// kernel knows, and never what the environment says. $USER, $LOGNAME and the
// name service are not asked; the name beside the id comes from /etc/passwd and
// is a label.
package localuser

import (
	"bytes"
	"os"
	"strconv"
	"sync"
)

// User is the person who runs this process, as the kernel knows them.
type User struct {
	// UID is the real user id (a SID on Windows). It is never empty.
	UID string
	// LoginUID is the user id that the person logged in with, where the kernel
	// keeps it (Linux, /proc/self/loginuid); "" where it does not. sudo and su
	// change UID, not this.
	LoginUID string
	// Host is the identity of the running kernel (its boot id), the same in all
	// containers of one host; "" where the system has none that can be read.
	Host string
	// Name is the name that /etc/passwd has for UID, "uid 54321" without one. It is
	// a label: it proves nothing.
	Name string
	// Doubt says why UID does not tell people apart here; "" when it does. It ends
	// a sentence that begins with "user id 54321".
	Doubt string
}

// Current looks once; a process does not change its user.
var Current = sync.OnceValue(look)

// look asks the system. The first doubt found is told.
func look() User {
	u := User{UID: userID(), LoginUID: loginUID(), Host: bootID()}
	name, known := nameOf(u.UID)
	u.Name = name
	if !known {
		u.Name = "uid " + u.UID
	}
	switch why := mapped(); {
	case why != "":
		u.Doubt = why
	case os.Geteuid() != os.Getuid():
		u.Doubt = "runs opdeck with the rights of another user"
	case !known:
		u.Doubt = noEntry
	case u.Host == "":
		u.Doubt = "may belong to another host: the system has no readable boot id"
	}
	return u
}

const noEntry = "has no entry in /etc/passwd"

// Known reports whether a user id still has an entry in /etc/passwd.
func Known(uid string) bool {
	_, known := nameOf(uid)
	return known
}

// passwdName finds the name of a user id in the text of a passwd file.
func passwdName(passwd []byte, uid string) (name string, ok bool) {
	want, err := strconv.ParseUint(uid, 10, 32)
	if err != nil {
		return "", false
	}
	for line := range bytes.SplitSeq(passwd, []byte{'\n'}) {
		f := bytes.Split(line, []byte{':'})
		if len(f) < 7 || len(f[0]) == 0 || f[0][0] == '#' || f[0][0] == '+' || f[0][0] == '-' {
			continue
		}
		if got, err := strconv.ParseUint(string(f[2]), 10, 32); err == nil && got == want {
			return string(f[0]), true
		}
	}
	return "", false
}
