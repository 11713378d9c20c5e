package store

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// remote lists file systems on which SQLite's locks or shared memory cannot be
// trusted (statfs magic numbers, linux/magic.h).
var remote = map[int64]string{
	0x6969: "NFS", 0x517b: "SMB", 0xff534d42: "CIFS", 0xfe534d42: "SMB2",
	0x01021997: "9p", 0x65735546: "FUSE", 0x5346414f: "AFS", 0x00c36400: "Ceph",
	0x0bd00bd0: "Lustre", 0x47504653: "GPFS", 0x7461636f: "OCFS2", 0x01161970: "GFS2",
}

// refuseNetworkDisk keeps SQLite off file systems that several hosts share
// (rule A6): its write-ahead log corrupts there.
func refuseNetworkDisk(dir string) error {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	return refuseMagic(dir, int64(uint32(st.Type)))
}

// NetworkDiskError says that SQLite would stand on a network file system.
type NetworkDiskError struct{ Dir, System string }

func (e *NetworkDiskError) Error() string {
	return fmt.Sprintf("store: %s is on a network file system (%s), where SQLite loses data; use a local folder, or PostgreSQL for several hosts ([store] url = \"postgres://…\")", e.Dir, e.System)
}

func refuseMagic(dir string, magic int64) error {
	if name, ok := remote[magic]; ok {
		return &NetworkDiskError{Dir: dir, System: name}
	}
	return nil
}
