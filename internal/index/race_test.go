//go:build race

package index_test

const slowRun = true // the race detector makes everything ten times slower
