package localuser

import "os/user"

// userID is the SID in the process's token.
func userID() string {
	u, err := user.Current()
	if err != nil || u.Uid == "" {
		return "unknown"
	}
	return u.Uid
}

func nameOf(uid string) (name string, known bool) {
	u, err := user.LookupId(uid)
	if err != nil || u.Uid != uid || u.Username == "" {
		return "", false
	}
	return u.Username, true
}
