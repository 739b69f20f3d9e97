size,cdf
1000,0
