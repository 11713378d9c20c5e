package files

import "fmt"

// NetworkDiskError: SQLite would be on a network file system.
type NetworkDiskError struct{ Dir, System string }

// Error is a sentence that suggests PostgreSQL.
func (e *NetworkDiskError) Error() string {
	return fmt.Sprintf(
		"store: %s is on a network file system (%s), where SQLite loses data; use a local folder, or PostgreSQL for "+
			"several hosts ([store] url = \"postgres://…\")", e.Dir, e.System)
}

// RefuseNetworkDisk returns an error if dir is on a file system shared by several hosts (rule A6), where SQLite's
// write-ahead log gets corrupted. system returns the remote file system of a folder, "" for a local one.
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
