//go:build race

package store_test

const slowRun = true // the race detector makes everything ten times slower
