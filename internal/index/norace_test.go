//go:build !race

package index_test

const slowRun = false
