// Package localuser identifies the person at this host by the kernel's user id, never by the environment: it does not
// use $USER, $LOGNAME or the name service. The name comes from /etc/passwd and is only a label.
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
	// LoginUID is the user id of the login, if the kernel records it (Linux, /proc/self/loginuid); else "". sudo and
	// su change UID, not this.
	LoginUID string
	// Host is the boot id of the running kernel, which all containers of one host share; "" if not readable.
	Host string
	// Name is the name for UID in /etc/passwd, or "uid 54321". It is only a label.
	Name string
	// Doubt says why UID may be shared here; "" if it identifies one person. It ends a sentence that begins with
	// "user id 54321".
	Doubt string
}

// Current returns the user of this process. It is read once, since it does not change.
var Current = sync.OnceValue(look)

// look reads the user from the system. It reports the first doubt.
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

// NameOf is the name for a user id, or "#54321" if there is none, as sudo -u takes both.
func NameOf(uid string) string {
	if name, known := nameOf(uid); known {
		return name
	}
	return "#" + uid
}

// passwdName finds the name of a user id in a passwd file.
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
