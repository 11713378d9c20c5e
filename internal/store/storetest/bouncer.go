//go:build unix

package storetest

import (
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// bouncers holds the PgBouncers of this test process by the size of their pools.
var bouncers sync.Map // int: func() (running, error)

// DefaultPool is the size of PgBouncer's pools unless someone sets it.
const DefaultPool = 20

// Pooled returns the way to database, an answer of URL, through a PgBouncer in
// transaction mode with DefaultPool connections. Without PgBouncer t is skipped, or fails when
// $OPDECK_TEST_REQUIRE names pgbouncer.
func Pooled(t testing.TB, database string) string {
	t.Helper()
	return PooledBy(t, database, DefaultPool)
}

// PooledBy is Pooled with a pooler that has size connections to a database.
func PooledBy(t testing.TB, database string, size int) string {
	t.Helper()
	if _, err := bouncer(); err != nil {
		Missing(t, "pgbouncer", "PgBouncer is not installed")
	}
	Server(t)
	start, _ := bouncers.LoadOrStore(size, sync.OnceValues(func() (running, error) { return startBouncer(size) }))
	pool, err := start.(func() (running, error))()
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	u.Host, u.User = "", url.User("opdeck")
	u.RawQuery = url.Values{"host": {pool.at}, "port": {"6432"}}.Encode()
	return u.String()
}

func bouncer() (string, error) {
	if p, err := exec.LookPath("pgbouncer"); err == nil {
		return p, nil
	}
	return exec.LookPath("/usr/sbin/pgbouncer")
}

// startBouncer runs a pooler with size connections to a database; it is at the folder of its socket.
func startBouncer(size int) (running, error) {
	program, err := bouncer()
	if err != nil {
		return running{}, err
	}
	server := os.Getenv("OPDECK_TEST_POSTGRES")
	if server == "" {
		own, err := cluster()
		if err != nil {
			return running{}, err
		}
		server = own.at
	}
	u, err := url.Parse(server)
	if err != nil {
		return running{}, err
	}
	as, err := serverAccount()
	if err != nil {
		return running{}, err
	}
	dir, err := shortDir("opdeck-pb-", as)
	if err != nil {
		return running{}, err
	}
	if err := writeBouncer(dir, u, size); err != nil {
		return running{}, err
	}
	life, err := guard(dir, as, "TERM", program, filepath.Join(dir, "ini"))
	if err != nil {
		return running{}, err
	}
	probe := "postgres://opdeck@/postgres?port=6432&host=" + dir
	return running{at: dir, life: life}, answer(probe, filepath.Join(dir, "log"))
}

// writeBouncer writes the settings and the list of users.
func writeBouncer(dir string, server *url.URL, size int) error {
	target := "host=" + server.Query().Get("host")
	if server.Host != "" {
		target = "host=" + server.Hostname()
		if p := server.Port(); p != "" {
			target += " port=" + p
		}
	}
	password, _ := server.User.Password()
	ini := fmt.Sprintf(`[databases]
* = %s user=%s
[pgbouncer]
listen_addr =
listen_port = 6432
unix_socket_dir = %s
auth_type = trust
auth_file = %s/users
pool_mode = transaction
default_pool_size = %d
max_client_conn = 500
`, target, server.User.Username(), dir, dir, size)
	users := fmt.Sprintf("\"opdeck\" \"\"\n\"%s\" \"%s\"\n", server.User.Username(), password)
	if server.User.Username() == "opdeck" {
		users = fmt.Sprintf("\"opdeck\" \"%s\"\n", password)
	}
	if err := os.WriteFile(filepath.Join(dir, "ini"), []byte(ini), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "users"), []byte(users), 0o644)
}
