module example/gonames

go 1.22
