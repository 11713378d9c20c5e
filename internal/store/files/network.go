package files

import "fmt"

// NetworkDiskError says that SQLite would stand on a network file system.
type NetworkDiskError struct{ Dir, System string }

// Error is a sentence that names PostgreSQL as the way out.
func (e *NetworkDiskError) Error() string {
	return fmt.Sprintf(
		"store: %s is on a network file system (%s), where SQLite loses data; use a local folder, or PostgreSQL for "+
			"several hosts ([store] url = \"postgres://…\")", e.Dir, e.System)
}

// RefuseNetworkDisk keeps SQLite off file systems that several hosts share
// (rule A6): its write-ahead log corrupts there. system names the remote file
// system that a folder is on, "" for a local one.
func RefuseNetworkDisk(dir string, system func(dir string) (string, error)) error {
	if system == nil {
		system = remoteSystem
	}
	name, err := system(nearest(dir))
	if err != nil {
		return err
	}
	if name != "" {
		return &NetworkDiskError{Dir: dir, System: name}
	}
	return nil
}
