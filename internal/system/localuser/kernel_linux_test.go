package localuser

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// builds makes the program that says who it is, with cgo and without.
func builds(t *testing.T) map[string]string {
	t.Helper()
	dir, out := t.TempDir(), map[string]string{}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, cgo := range map[string]string{"static": "0", "cgo": "1"} {
		path := filepath.Join(dir, name)
		cmd := exec.Command("go", "build", "-o", path, "./testdata/whoami")
		cmd.Env = append(os.Environ(), "CGO_ENABLED="+cgo)
		if b, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", name, err, b)
		}
		out[name] = path
	}
	return out
}

// ask runs it; ok is false when the system did not let it start so.
func ask(t *testing.T, path string, attr *syscall.SysProcAttr, env ...string) (u User, ok bool) {
	t.Helper()
	cmd := exec.Command(path)
	cmd.Dir, cmd.Env, cmd.SysProcAttr = "/", env, attr
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Logf("%s: %v: %s", path, err, &errs)
		return User{}, false
	}
	if err := json.Unmarshal(out.Bytes(), &u); err != nil {
		t.Fatal(err)
	}
	return u, true
}

// In both builds the environment says nothing about who someone is.
func TestTheEnvironmentIsNotAsked(t *testing.T) {
	me := look()
	for build, path := range builds(t) {
		for _, name := range []string{"alice", "bob", "root"} {
			u, ok := ask(t, path, nil, "USER="+name, "LOGNAME="+name, "HOME=/home/"+name)
			if !ok || u != me {
				t.Errorf("%s as $USER %s: %+v, want %+v", build, name, u, me)
			}
		}
		if os.Getuid() != 0 {
			continue
		}
		for _, name := range []string{"alice", "bob"} {
			u, ok := ask(t, path, &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 54321, Gid: 54321}}, "USER="+name, "LOGNAME="+name, "HOME=/")
			if !ok {
				t.Skip("another user cannot run what stands in the tests' folder")
			}
			if u.UID != "54321" || u.Name != "uid 54321" || u.Doubt != noEntry || u.Host != me.Host || u.Host == "" {
				t.Errorf("%s as uid 54321 and $USER %s: %+v", build, name, u)
			}
		}
	}
}

// A user id that a namespace made up is in doubt, whatever is mounted over /proc and
// /etc/passwd in it.
func TestUserNamespaces(t *testing.T) {
	for build, path := range builds(t) {
		one := func(inside, outside int) []syscall.SysProcIDMap {
			return []syscall.SysProcIDMap{{ContainerID: inside, HostID: outside, Size: 1}}
		}
		for _, inside := range []int{0, 1001, os.Getuid()} {
			attr := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER, UidMappings: one(inside, os.Getuid()), GidMappings: one(inside, os.Getgid())}
			u, ok := ask(t, path, attr)
			if !ok {
				t.Skip("this system lets nobody make user namespaces")
			}
			if !strings.Contains(u.Doubt, "user namespace") {
				t.Errorf("%s mapped to %d: %+v", build, inside, u)
			}
		}
		for _, mount := range []string{
			"mount --bind map /proc/$$/uid_map",
			"mount -t tmpfs none /proc && mkdir -p /proc/self /proc/sys/kernel/random && cp map /proc/self/uid_map && cp boot /proc/sys/kernel/random/boot_id",
			"mount --bind /proc/1/uid_map /proc/$$/uid_map",
			"mount --bind /proc/1 /proc/$$",
		} {
			dir := t.TempDir()
			for name, text := range map[string]string{"map": "0 0 4294967295\n", "boot": "other\n"} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.Command("unshare", "-Urm", "sh", "-c", "cd "+dir+" && "+mount+" && exec "+path)
			b, err := cmd.Output()
			if err != nil {
				t.Logf("%s: %s: %v", build, mount, err) // refused: that is as good
				continue
			}
			var u User
			if err := json.Unmarshal(b, &u); err != nil || u.Doubt == "" {
				t.Errorf("%s: %s: %s", build, mount, b)
			}
		}
	}
}

func TestIdentityMap(t *testing.T) {
	for m, want := range map[string]bool{"         0          0 4294967295": true, "": false, "0 1000 1": false, "1000 1000 1": false,
		"0 0 65536": false, "0 0 4294967295\n1 1 1": false, "0 100000 4294967295": false} {
		if identity(m) != want {
			t.Errorf("%q: %v", m, !want)
		}
	}
}
