package store

import "io/fs"

// On Windows a folder's access list decides, which a profile's folders set well;
// Go's mode bits say nothing about it.

func ours(string, fs.FileInfo) error { return nil }

func writableByOthers(fs.FileInfo) bool { return false }

func readableByOthers(fs.FileInfo) bool { return false }
